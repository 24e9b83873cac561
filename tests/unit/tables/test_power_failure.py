"""What is stored in which order, and what comes again after a power failure, a crash, or on a full disk."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from builders.claims import claims, epochs
from builders.spark_tables import checkpoint_every_tenth
from offset_sync.model.errors import TableError
from offset_sync.tables import log_repair
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.log_repair import alone, repair_log
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore
from tools.stored_names import note_stored


def entry(version: int) -> str:
    return f"{version:020d}.json"


def log_of(tables: TableStore) -> Path:
    return Path(tables.path(DRIVERS), "_delta_log")


def by_delta_rs(tables: TableStore) -> list[int]:
    return epochs(DeltaTable(tables.path(DRIVERS)).to_pyarrow_table())


def test_a_table_its_columns_and_its_properties_are_stored_before_that_returns(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = note_stored(monkeypatch)
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
    assert epochs(again.all_rows(DRIVERS)) == by_delta_rs(again) == [1, 2, 3]


def test_no_writer_waits_for_a_process_that_is_stopped_in_a_checkpoint_or_a_clean_up(tables: TableStore) -> None:
    checkpoint_every_tenth(tables, DRIVERS)
    with alone(Path(tables.path(DRIVERS))) as is_alone:
        assert is_alone
        for number in range(12):
            tables.append(DRIVERS, claims(number))
        Maintainer(tables, timedelta(hours=1)).clean_up(DRIVERS)
        assert not list(log_of(tables).glob("*.checkpoint*"))
    for number in range(12, 22):
        tables.append(DRIVERS, claims(number))
    assert list(log_of(tables).glob("*.checkpoint*"))
    assert epochs(TableStore(tables.root).all_rows(DRIVERS)) == list(range(22))


def test_a_repair_that_waits_for_long_says_what_to_do(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.append(DRIVERS, claims(1))
    (log_of(tables) / entry(1)).write_text("")
    monkeypatch.setattr(log_repair, "_PATIENCE_SECONDS", 0.1)
    with alone(Path(tables.path(DRIVERS))), pytest.raises(TableError, match="hangs, end it"):
        tables.repair()
    tables.repair()
    assert not (log_of(tables) / entry(1)).exists()


def test_a_checkpoint_is_not_removed_where_nothing_else_says_the_same(tables: TableStore) -> None:
    for number in range(3):
        tables.append(DRIVERS, claims(number))
    DeltaTable(tables.path(DRIVERS)).create_checkpoint()
    (found,) = log_of(tables).glob("*.checkpoint.parquet")
    whole = found.read_bytes()
    found.write_bytes(whole[:50])
    copy = shutil.copytree(tables.path(DRIVERS), Path(tables.root, "copy", "drivers"))
    assert epochs(mended(tables.root).all_rows(DRIVERS)) == [0, 1, 2]
    (copy / "_delta_log" / entry(1)).unlink()  # cleaned up
    with pytest.raises(TableError, match="the entries before it are gone"):
        mended(str(copy.parent))
    (copy / "_delta_log" / found.name).write_bytes(whole)
    assert epochs(mended(str(copy.parent)).all_rows(DRIVERS)) == [0, 1, 2]


def mended(root: str) -> TableStore:
    found = TableStore(root)
    found.create([DRIVERS])
    return found


@pytest.mark.parametrize("version", [0, 2])
def test_an_entry_before_others_is_refused_by_name_with_the_remedy(tables: TableStore, version: int) -> None:
    for number in range(3):
        tables.append(DRIVERS, claims(number))
    (log_of(tables) / entry(version)).write_text("")
    for _ in range(2):
        with pytest.raises(TableError, match=rf"{version:020d}.json: empty .* put back a copy .* tables.checkpoints n"):
            repair_log(Path(tables.path(DRIVERS)))
        (log_of(tables) / entry(3)).write_text("")
    assert (log_of(tables) / entry(3)).exists()
