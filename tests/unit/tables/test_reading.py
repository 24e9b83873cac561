"""Tables are read and followed as they are, by any writer and after any maintenance."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from builders.claims import claims, epochs
from builders.spark_tables import checkpoint_every_tenth
from offset_sync.tables import files as whole_files
from offset_sync.tables import rows as table_rows
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore


@pytest.fixture
def tables(tables: TableStore) -> TableStore:
    """A table of which rows may go."""
    tables.log(DRIVERS).set_properties({"delta.appendOnly": "false"})
    return tables


def theirs(tables: TableStore) -> DeltaTable:
    return DeltaTable(tables.path(DRIVERS))


def read(tables: TableStore) -> list[int]:
    """Return what a table holds, however it is read."""
    found = epochs(tables.all_rows(DRIVERS))
    assert epochs(pa.concat_tables([DRIVERS.no_rows, *tables.batches(DRIVERS)])) == found
    return found


def test_a_table_is_read_whatever_was_done_to_it(tables: TableStore) -> None:
    checkpoint_every_tenth(tables, DRIVERS)
    assert read(tables) == []
    for number in range(1, 12):
        tables.append(DRIVERS, claims(number))
    theirs(tables).delete("epoch in (1, 2)")
    theirs(tables).optimize.compact()
    write_deltalake(theirs(tables), claims(20, 21), mode="append")
    assert read(tables) == [*range(3, 12), 20, 21]
    assert list(Path(tables.path(DRIVERS)).glob("_delta_log/*.checkpoint*.parquet"))


def test_what_was_added_is_read_without_what_a_compaction_wrote_again_or_retention_removed(tables: TableStore) -> None:
    for number in (1, 2):
        tables.append(DRIVERS, claims(number, 10 + number))
    middle = tables.version(DRIVERS)
    tables.append(DRIVERS, claims(3))
    theirs(tables).optimize.compact()
    compacted = tables.version(DRIVERS, middle)
    assert compacted == middle + 2
    tables.append(DRIVERS, claims(4))
    theirs(tables).delete("epoch = 1")
    newest = tables.version(DRIVERS, middle)

    def added(after: int, until: int) -> list[int]:
        rows = tables.read_added(DRIVERS, after, until)
        assert rows.schema == DRIVERS.arrow_schema
        return epochs(rows)

    assert added(middle, newest) == [3, 4]
    assert added(middle, middle + 1) == [3]
    assert added(middle + 1, compacted) == added(newest, newest) == []
    assert added(compacted, newest) == [4]
    assert read(tables) == [2, 3, 4, 11, 12]


def test_of_a_table_that_was_set_back_all_rows_come_again(tmp_path: Path) -> None:
    tables = TableStore(str(tmp_path / "now"))
    tables.create([DRIVERS])
    for number in range(3):
        tables.append(DRIVERS, claims(number))
    _, known = tables.rows_since(DRIVERS, None)
    before = TableStore(str(tmp_path / "before"))
    before.create([DRIVERS])
    before.append(DRIVERS, claims(9))
    shutil.rmtree(tables.path(DRIVERS))
    shutil.copytree(before.path(DRIVERS), tables.path(DRIVERS))
    rows, version = TableStore(tables.root).rows_since(DRIVERS, known)
    assert (epochs(rows), version) == ([9], 1)


def test_small_files_come_together_and_large_ones_in_pieces(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        tables.append(DRIVERS, claims(*range(10 * number, 10 * number + 10)))
    assert [piece.num_rows for piece in tables.batches(DRIVERS)] == [60]
    monkeypatch.setattr(whole_files, "BATCH_ROWS", 4)
    monkeypatch.setattr(table_rows, "_WORTH_A_BATCH", 20)
    assert [piece.num_rows for piece in tables.batches(DRIVERS)] == [20, 20, 20]
    (few,) = tables.batches(DRIVERS, ["epoch"], ("epoch", 55))
    assert few.schema.names == ["epoch"]
    assert epochs(few) == list(range(50, 60))
    assert read(tables) == list(range(60))
