"""A table that an earlier version has made is read as it is, and given the columns that came later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from offset_sync.tables import store
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.create import add_later_columns, create_table
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore

EARLIER = replace(
    RECORD_RUNS, columns=tuple(each for each in RECORD_RUNS.columns if each.name not in RECORD_RUNS.later), later=()
)


@pytest.fixture
def earlier(spark: SparkSession, tmp_path: Path) -> TableStore:
    """Tables of the version before, with a row."""
    tables = TableStore(spark, str(tmp_path / "tables"))
    create_table(spark, tables.path(RECORD_RUNS), EARLIER)
    tables.append(EARLIER, row(EARLIER, 1))
    return tables


def row(table: Table, start: int) -> pa.Table:
    return pa.Table.from_pylist([{"cluster": "dc1", "topic": "orders", "start_offset": start}], table.arrow_schema)


def starts(rows: pa.Table) -> list[int]:
    return sorted(rows.column("start_offset").to_pylist())


def test_what_is_not_there_yet_is_null_however_it_is_read(earlier: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier.append(EARLIER, row(EARLIER, 2))
    found = [earlier.all_rows(RECORD_RUNS), earlier.read_added(RECORD_RUNS, 0, 2)]
    monkeypatch.setattr(store, "_FEW_LOCAL_FILES", 0)
    found.append(earlier.all_rows(RECORD_RUNS))
    assert [starts(each) for each in found] == [[1, 2]] * 3
    assert {each.column("complete_until").null_count for each in found} == {2}


def test_the_columns_are_added_once_with_what_they_mean_and_old_and_new_writers_go_on(
    spark: SparkSession, earlier: TableStore, tmp_path: Path
) -> None:
    running = TableStore(spark, earlier.root)
    running.append(EARLIER, row(EARLIER, 2))  # it remembers how the table was
    for _ in range(2):
        earlier.create([RECORD_RUNS])
        assert earlier.version(RECORD_RUNS) == 2 + len(RECORD_RUNS.later)
    (added,) = (each for each in earlier.read(RECORD_RUNS).schema if each.name == "complete_until")
    field = spark.read.format("delta").load(earlier.path(RECORD_RUNS)).schema["complete_until"]
    (meant,) = (each for each in RECORD_RUNS.columns if each.name == "complete_until")
    assert (added.dataType.simpleString(), field.metadata["comment"]) == (meant.type, meant.comment)
    running.append(EARLIER, row(EARLIER, 3))
    earlier.append(RECORD_RUNS, row(RECORD_RUNS, 4))
    newest = earlier.version(RECORD_RUNS)
    assert starts(running.all_rows(RECORD_RUNS)) == starts(earlier.read_added(RECORD_RUNS, 0, newest)) == [1, 2, 3, 4]


def test_two_jobs_that_start_at_once_may_both_find_that_it_lacks(spark: SparkSession, earlier: TableStore) -> None:
    for _ in range(2):
        add_later_columns(spark, earlier.path(RECORD_RUNS), RECORD_RUNS, EARLIER.names)
    assert earlier.version(RECORD_RUNS) == 1 + len(RECORD_RUNS.later)
