"""Files of a real table are put together into sorted ones: nobody reads other rows than before, by any reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offset_sync.tables import maintenance, sorted_compaction
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.local_store import LocalTables
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.sorted_files import Block
from offset_sync.tables.store import TableStore

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)
Row = tuple[str, int, int]


def append(tables: TableStore, *rows: Row) -> None:
    found = [
        (cluster, "orders", number, start, 1, "dc1", start, NOW, NOW, NOW, None, None)
        for cluster, number, start in rows
    ]
    named = [dict(zip(RECORD_RUNS.names, row, strict=True)) for row in found]
    tables.append(RECORD_RUNS, pa.Table.from_pylist(named, RECORD_RUNS.arrow_schema))


def rows_in(found: pa.Table) -> list[Row]:
    return list(
        zip(*(found.column(name).to_pylist() for name in ("cluster", "partition", "start_offset")), strict=True)
    )


@pytest.fixture
def path(tables: TableStore) -> str:
    return tables.path(RECORD_RUNS)


@pytest.fixture
def maintainer(spark: SparkSession, path: str) -> Maintainer:
    made = Maintainer(spark, timedelta(hours=1))
    made.prepare(path, RECORD_RUNS)
    return made


ROWS = [[("dc2", 1, 7), ("dc1", 0, 3)], [("dc1", 0, 1)], [("dc1", 1, 0), ("dc2", 1, 2), ("dc1", 0, 2)]]
SORTED = sorted(row for rows in ROWS for row in rows)


def test_every_reader_finds_the_same_rows_sorted(
    spark: SparkSession, tables: TableStore, path: str, maintainer: Maintainer
) -> None:
    for rows in ROWS:
        append(tables, *rows)
    known = tables.version(RECORD_RUNS)
    maintainer.sort(path, RECORD_RUNS)
    assert len(files := DeltaTable(path).file_uris()) == 1
    assert "/sorted-" in files[0]
    local = LocalTables(tables.files.local(tables.root) and str(tables.files.local(tables.root)))
    for store in (tables, local):
        assert rows_in(store.all_rows(RECORD_RUNS)) == SORTED
        with ExitStack() as opened:
            blocks = list(store.blocks(RECORD_RUNS, RECORD_RUNS.names, opened))
            assert all(isinstance(each, Block) for each in blocks)
            assert [row for each in blocks for row in rows_in(each.read())] == SORTED
    by_spark = spark.read.format("delta").load(path).where("partition = 1").select("cluster", "start_offset").collect()
    assert sorted(map(tuple, by_spark)) == [("dc1", 0), ("dc2", 2), ("dc2", 7)]
    added = DeltaTable(path).get_add_actions(flatten=True)
    found = pa.table(added).to_pylist()[0]
    assert (found["num_records"], found["min.start_offset"], found["max.partition"]) == (6, 0, 1)
    assert tables.rows_since(RECORD_RUNS, known, tables.version(RECORD_RUNS)).num_rows == 0  # nothing new in it


def test_what_is_sorted_stays_until_there_is_more_and_old_files_until_nobody_needs_them(
    tables: TableStore, path: str, maintainer: Maintainer
) -> None:
    for rows in ROWS:
        append(tables, *rows)
    maintainer.sort(path, RECORD_RUNS)
    version = tables.version(RECORD_RUNS)
    maintainer.sort(path, RECORD_RUNS)
    assert tables.version(RECORD_RUNS, version) == version
    append(tables, ("dc1", 0, 0))
    maintainer.sort(path, RECORD_RUNS)
    assert rows_in(tables.all_rows(RECORD_RUNS)) == sorted([*SORTED, ("dc1", 0, 0)])
    maintainer.clean_up(path)
    assert rows_in(DeltaTable(path, version=version).to_pyarrow_table()) == SORTED


def test_large_tables_get_several_files_each_of_its_time(
    tables: TableStore, path: str, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (maintenance, sorted_compaction):
        monkeypatch.setattr(module, "FILE_ROWS", 4)
    for start in range(0, 22, 2):
        append(tables, ("dc1", 0, start), ("dc1", 0, start + 1))
    maintainer.sort(path, RECORD_RUNS)
    actions = pa.table(DeltaTable(path).get_add_actions(flatten=True)).to_pylist()
    spans = sorted((each["min.start_offset"], each["max.start_offset"]) for each in actions)
    assert spans == [(0, 3), (4, 7), (8, 11), (12, 15), (16, 19), (20, 21)]


def test_a_compaction_that_would_lose_a_row_is_refused(
    tables: TableStore, path: str, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rows in ROWS:
        append(tables, *rows)
    version, sorted_parts = tables.version(RECORD_RUNS), maintenance.sorted_parts
    monkeypatch.setattr(maintenance, "sorted_parts", lambda files, paths, table: sorted_parts(files, paths[1:], table))
    with pytest.raises(RuntimeError, match="rows were sorted instead of 6; they stay as they are"):
        maintainer.sort(path, RECORD_RUNS)
    assert tables.version(RECORD_RUNS, version) == version


def remove_row(spark: SparkSession, path: str) -> None:
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE start_offset = 7")


def add_column(spark: SparkSession, path: str) -> None:
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS (later STRING)")
    spark.sql(f"UPDATE delta.`{path}` SET later = 'kept'")


@pytest.mark.parametrize("change", [remove_row, add_column])
def test_what_another_version_has_added_or_removed_is_left_to_delta(
    spark: SparkSession,
    tables: TableStore,
    path: str,
    maintainer: Maintainer,
    change: Callable[[SparkSession, str], Any],
) -> None:
    for rows in ROWS:
        append(tables, *rows)
    change(spark, path)
    before = spark.read.format("delta").load(path).orderBy("cluster", "partition", "start_offset").collect()
    maintainer.sort(path, RECORD_RUNS)
    assert spark.read.format("delta").load(path).orderBy("cluster", "partition", "start_offset").collect() == before
    names = [
        action["add"]["path"]
        for entry in Path(path, "_delta_log").glob("*.json")
        for action in map(json.loads, entry.read_text().splitlines())
        if "add" in action
    ]
    assert not any(name.startswith("sorted-") for name in names)
