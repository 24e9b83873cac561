"""Tables on a local disk: what is stored in which order, and what comes again after a power failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from builders.claims import claims, epochs
from builders.spark_tables import checkpoint_every_tenth
from offset_sync.tables.catalog import DRIVERS, SYNC_STATUS
from offset_sync.tables.store import TableStore
from tools.stored_names import note_stored


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was stored, in order."""
    return note_stored(monkeypatch)


def entry(version: int) -> str:
    return f"{version:020d}.json"


def log_of(tables: TableStore) -> Path:
    return Path(tables.path(DRIVERS), "_delta_log")


def test_rows_are_stored_before_their_entry_and_both_before_a_write_returns(
    tables: TableStore, stored: list[str]
) -> None:
    tables.create([SYNC_STATUS])
    tables.append(DRIVERS, claims(0))
    stored.clear()
    tables.append(DRIVERS, claims(1))
    assert stored == ["rows", "drivers", entry(2), "_delta_log"]
    stored.clear()
    tables.replace(SYNC_STATUS, pa.Table.from_pylist([{"group_id": "g"}], SYNC_STATUS.arrow_schema))
    assert stored == ["rows", "sync_status", entry(1), "_delta_log"]


def test_a_table_its_columns_and_its_properties_are_stored_before_that_returns(
    tables: TableStore, stored: list[str]
) -> None:
    other = TableStore(f"{tables.root}/more")
    other.create([DRIVERS])
    assert stored[:6] == [entry(0), "_delta_log", "_delta_log", "drivers", "drivers", "more"]
    above = [each.name for each in Path(other.root).absolute().parents]
    assert stored[6:] == ["more", *above]
    stored.clear()
    TableStore(other.root).create([DRIVERS])  # its creator may have been killed before
    assert stored == [entry(0), "_delta_log", "_delta_log", "drivers", "drivers", "more", "more", *above]
    stored.clear()
    other.log(DRIVERS).set_properties({"delta.checkpointInterval": "3"})
    assert stored == [entry(1), "_delta_log"]


@pytest.mark.parametrize("left", [0, 40], ids=["empty", "cut off"])
def test_an_append_whose_entry_was_not_stored_comes_again_and_is_there_once(tables: TableStore, left: int) -> None:
    for number in (1, 2):
        tables.append(DRIVERS, claims(number), ("query", number))
    newest = log_of(tables) / entry(2)
    newest.write_bytes(newest.read_bytes()[:left])
    again = TableStore(tables.root)
    again.create([DRIVERS])
    assert again.version(DRIVERS) == 1
    for number in (2, 2, 3):
        again.append(DRIVERS, claims(number), ("query", number))
    assert epochs(again.all_rows(DRIVERS)) == [1, 2, 3]
    assert epochs(DeltaTable(tables.path(DRIVERS)).to_pyarrow_table()) == [1, 2, 3]


def _cut(path: Path, filled: bytes = b"") -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + filled * (len(whole) // 2))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut off": _cut,
    "zeros at the end": lambda path: _cut(path, b"\0"),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("of", ["*.checkpoint.parquet", "_last_checkpoint"])
def test_a_checkpoint_that_was_not_stored_costs_nothing(tables: TableStore, damage: str, of: str) -> None:
    checkpoint_every_tenth(tables, DRIVERS)
    for number in range(22):
        tables.append(DRIVERS, claims(number), ("query", number))
    newest = max(log_of(tables).glob(of))
    DAMAGE[damage](newest)
    again = TableStore(tables.root)
    again.repair()
    for number in range(21, 24):
        again.append(DRIVERS, claims(number), ("query", number))
    assert epochs(again.all_rows(DRIVERS)) == list(range(24))
    assert epochs(DeltaTable(tables.path(DRIVERS)).to_pyarrow_table()) == list(range(24))
    again.create([DRIVERS])
    assert again.version(DRIVERS) == 25
