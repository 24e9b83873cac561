"""The tables as others find them: what they say of themselves, who can read them, and that nothing is written twice."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offset_sync.tables.catalog import GROUP_EVENTS, LOG_INCARNATIONS, RECORD_FINGERPRINTS, RECORD_RUNS, TABLES
from offset_sync.tables.create import create_elsewhere, create_table
from offset_sync.tables.definition import Table
from offset_sync.tables.delta.lock import table_lock
from offset_sync.tables.store import TableStore

EXAMPLES = {
    "string": "grün",
    "bigint": 2**62,
    "int": 7,
    "boolean": True,
    "binary": b"\x00\xff",
    "timestamp": datetime(2026, 11, 21, 9, 30, 0, 123456, timezone.utc),
}


def delta(tables: TableStore, table: Table) -> DeltaTable:
    return DeltaTable(tables.path(table))


def rows_of(table: Table, count: int = 1, **changed: Any) -> pa.Table:
    row = {column.name: EXAMPLES[column.type] for column in table.columns} | changed
    return pa.Table.from_pylist([row] * count, table.arrow_schema)


def runs(*starts: int) -> pa.Table:
    return pa.concat_tables([rows_of(RECORD_RUNS, start_offset=start, length=1) for start in starts])


def starts(tables: TableStore, table: Table = RECORD_RUNS) -> list[int]:
    return sorted(delta(tables, table).to_pyarrow_table(columns=["start_offset"])["start_offset"].to_pylist())


# What they say of themselves


def test_every_table_and_every_column_says_what_it_means(tables: TableStore) -> None:
    for table in TABLES:
        found = delta(tables, table)
        assert found.metadata().description == table.comment
        assert {field.name: field.metadata.get("comment") for field in found.schema().fields} == {
            column.name: column.comment for column in table.columns
        }


def test_every_table_has_the_columns_and_types_of_the_contract(tables: TableStore) -> None:
    for table in TABLES:
        found = [f"`{field.name}` {field.dataType.simpleString()}" for field in tables.read(table).schema]
        assert ", ".join(found) == table.ddl


def test_every_table_but_those_that_are_cut_is_append_only_and_remembers_its_writers_for_long(
    tables: TableStore,
) -> None:
    for table in TABLES:
        properties = delta(tables, table).metadata().configuration
        is_cut = table in (RECORD_RUNS, RECORD_FINGERPRINTS, LOG_INCARNATIONS)
        assert properties["delta.appendOnly"] == str(not is_cut).lower()
        assert properties["delta.setTransactionRetentionDuration"] == "interval 90 days"


def test_the_protocol_is_plain_so_that_every_reader_reads_every_table(tables: TableStore) -> None:
    for table in TABLES:
        protocol, properties = delta(tables, table).protocol(), delta(tables, table).metadata().configuration
        assert protocol.min_reader_version == 1
        assert not protocol.reader_features
        assert not {"deletionVectors", "columnMapping", "v2Checkpoint"} & set(protocol.writer_features or [])
        assert properties["delta.enableDeletionVectors"] == "false"
        assert "delta.columnMapping.mode" not in properties


def test_creating_again_changes_nothing(tables: TableStore) -> None:
    tables.append(GROUP_EVENTS, rows_of(GROUP_EVENTS))
    before = {table.name: delta(tables, table).version() for table in TABLES}
    tables.create()
    assert {table.name: delta(tables, table).version() for table in TABLES} == before
    assert before[GROUP_EVENTS.name] == 1


def test_a_table_that_is_there_is_not_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    """A driver that was paused while it wrote holds the lock, and the next one has to start."""
    create_table(spark, str(tmp_path / "table"), GROUP_EVENTS)
    begun, done = threading.Event(), threading.Event()

    def hold() -> None:
        with table_lock(tmp_path / "table"):
            begun.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert begun.wait(60)
    began = time.monotonic()
    try:
        create_table(spark, str(tmp_path / "table"), GROUP_EVENTS)
        assert time.monotonic() - began < 60
    finally:
        done.set()
        holder.join()


def test_a_folder_that_somebody_was_killed_in_front_of_a_first_version_is_taken_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    left_over = tmp_path / "table" / "_delta_log" / ".00000000000000000000.json.tmp"
    left_over.parent.mkdir(parents=True)
    left_over.write_text("half a ver")
    create_elsewhere(spark, str(tmp_path / "table"), GROUP_EVENTS, patience_seconds=0)
    assert DeltaTable(str(tmp_path / "table")).version() == 0


def test_a_folder_with_somebody_elses_files_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    theirs = tmp_path / "table" / "theirs.parquet"
    theirs.write_text("not ours")
    with pytest.raises(Exception, match="table"):
        create_elsewhere(spark, str(tmp_path / "table"), GROUP_EVENTS, patience_seconds=0)
    assert theirs.read_text() == "not ours"


# Who reads them


def test_spark_delta_rs_and_duckdb_read_the_same_rows(tables: TableStore) -> None:
    for table in TABLES:
        written = rows_of(table)
        tables.append(table, written)
        assert tables.read(table).toArrow().to_pylist() == written.to_pylist()
        arrow = delta(tables, table).to_pyarrow_table()
        assert arrow.select(table.names).to_pylist() == written.to_pylist()
        files = delta(tables, table).file_uris()
        by_duckdb = duckdb.sql("SELECT * FROM read_parquet($files)", params={"files": files}).to_arrow_table()
        assert by_duckdb.num_rows == 1
        assert set(by_duckdb.column_names) == set(table.names)
        names = [column.name for column in table.columns if column.type != "timestamp"]
        assert by_duckdb.select(names).to_pylist() == written.select(names).to_pylist()


# Appending


def test_a_version_of_a_writer_is_appended_once(tables: TableStore) -> None:
    tables.append(RECORD_RUNS, runs(1), ("query", 3))
    tables.append(RECORD_RUNS, runs(1), ("query", 3))
    tables.append(RECORD_RUNS, runs(2), ("query", 2))
    assert starts(tables) == [1]
    tables.append(RECORD_RUNS, runs(4), ("query", 4))
    assert starts(tables) == [1, 4]


def test_another_writer_and_no_writer_are_always_appended(tables: TableStore) -> None:
    tables.append(RECORD_RUNS, runs(1), ("query", 3))
    tables.append(RECORD_RUNS, runs(2), ("the query with a new checkpoint", 0))
    tables.append(RECORD_RUNS, runs(5))
    tables.append(RECORD_RUNS, runs(5))
    assert starts(tables) == [1, 2, 5, 5]


def test_rows_go_where_their_names_say_and_no_rows_cost_no_version(tables: TableStore) -> None:
    mixed = rows_of(GROUP_EVENTS).select(list(reversed(GROUP_EVENTS.names))).append_column("more", pa.array([1]))
    tables.append(GROUP_EVENTS, mixed)
    tables.append(GROUP_EVENTS, rows_of(GROUP_EVENTS, 0), ("query", 9))
    assert delta(tables, GROUP_EVENTS).to_pyarrow_table().to_pylist() == rows_of(GROUP_EVENTS).to_pylist()
    assert delta(tables, GROUP_EVENTS).version() == tables.version(GROUP_EVENTS) == 1


def test_what_was_added_is_read_without_what_a_compaction_wrote_again_or_retention_removed(
    spark: SparkSession, tables: TableStore
) -> None:
    for start in (1, 2):
        tables.append(RECORD_RUNS, runs(start, 10 + start))
    middle = tables.version(RECORD_RUNS)
    tables.append(RECORD_RUNS, runs(3))
    spark.sql(f"OPTIMIZE delta.`{tables.path(RECORD_RUNS)}`")
    compacted = tables.version(RECORD_RUNS)
    assert compacted > middle + 1
    tables.append(RECORD_RUNS, runs(4))

    def added(after: int, until: int) -> list[int]:
        rows = tables.read_added(RECORD_RUNS, after, until)
        assert rows.schema == RECORD_RUNS.arrow_schema
        return sorted(rows["start_offset"].to_pylist())

    assert added(middle, tables.version(RECORD_RUNS)) == [3, 4]
    assert added(middle, middle + 1) == [3]
    assert added(middle + 1, compacted) == []
    assert starts(tables) == [1, 2, 3, 4, 11, 12]

    before = tables.version(RECORD_RUNS)
    spark.sql(f"ALTER TABLE delta.`{tables.path(RECORD_RUNS)}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    spark.sql(f"DELETE FROM delta.`{tables.path(RECORD_RUNS)}` WHERE start_offset = 1")  # as retention will
    assert added(before, tables.version(RECORD_RUNS)) == []
    assert starts(tables) == [2, 3, 4, 11, 12]
