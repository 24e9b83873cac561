"""Small tables are read file by file, whatever was done to them, and all others by Delta."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from builders.spark_tables import checkpoint_every_tenth
from offset_sync.tables import store
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.store import TableStore


def runs(*starts: int) -> pa.Table:
    rows = [{"cluster": "dc1", "topic": "orders", "partition": 0, "start_offset": n, "length": 1} for n in starts]
    return pa.Table.from_pylist(rows, RECORD_RUNS.arrow_schema)


def is_read_by_delta(tables: TableStore) -> bool:
    plan = tables.read(RECORD_RUNS)._jdf.queryExecution().analyzed().toString()
    return "Relation" in plan.replace("LocalRelation", "")


def read(tables: TableStore) -> list[int]:
    frame = tables.read(RECORD_RUNS)
    by_delta = tables.spark.read.format("delta").load(tables.path(RECORD_RUNS)).select(*RECORD_RUNS.names)
    assert frame.dtypes == by_delta.dtypes
    found = sorted(row["start_offset"] for row in frame.collect())
    assert sorted(tables.all_rows(RECORD_RUNS)["start_offset"].to_pylist()) == found
    pieces = [piece.cast(RECORD_RUNS.arrow_schema) for piece in tables.batches(RECORD_RUNS, encoded=True)]
    assert sorted(start for piece in pieces for start in piece["start_offset"].to_pylist()) == found
    assert {cluster for piece in pieces for cluster in piece["cluster"].to_pylist()} <= {"dc1"}
    assert [tables.rows_where(RECORD_RUNS, {"start_offset": each}).num_rows for each in found] == [1] * len(found)
    assert tables.rows_where(RECORD_RUNS, {"start_offset": 3, "cluster": "nowhere"}).num_rows == 0
    return found


def alter(tables: TableStore, *statements: str) -> None:
    for statement in statements:
        tables.spark.sql(statement.format(table=f"delta.`{tables.path(RECORD_RUNS)}`"))


def test_a_small_table_is_read_without_delta_whatever_was_done_to_it(tables: TableStore) -> None:
    checkpoint_every_tenth(tables.spark, tables.path(RECORD_RUNS))
    assert read(tables) == []
    for start in range(1, 12):
        tables.append(RECORD_RUNS, runs(start))
    assert list(Path(tables.path(RECORD_RUNS)).glob("_delta_log/*.checkpoint*.parquet"))
    alter(tables, "OPTIMIZE {table}", "DELETE FROM {table} WHERE start_offset IN (1, 2)")
    tables.append(RECORD_RUNS, runs(20, 21))
    assert read(tables) == [*range(3, 12), 20, 21]
    assert not is_read_by_delta(tables)


def test_a_table_of_many_files_or_bytes_is_read_by_delta(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for start in (1, 2, 3):
        tables.append(RECORD_RUNS, runs(start))
    for name, most in (("_FEW_LOCAL_FILES", 2), ("_FEW_BYTES", 100)):
        with monkeypatch.context() as patch:
            assert not is_read_by_delta(tables)
            patch.setattr(store, name, most)
            assert is_read_by_delta(tables)
            assert read(tables) == [1, 2, 3]


def test_rows_that_are_only_marked_as_gone_do_not_come_back(tables: TableStore) -> None:
    alter(tables, "ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    tables.append(RECORD_RUNS, runs(1, 2, 3))
    alter(tables, "DELETE FROM {table} WHERE start_offset = 1")
    assert is_read_by_delta(tables)
    assert read(tables) == [2, 3]


def test_what_is_cleaned_up_while_it_is_read_is_read_once_more(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(RECORD_RUNS, runs(1, 2, 3))
    monkeypatch.setattr(HadoopFiles, "read_parquet", cleaned_up)
    assert sorted(tables.all_rows(RECORD_RUNS)["start_offset"].to_pylist()) == [1, 2, 3]


def cleaned_up(_files: HadoopFiles, path: str, _columns: list[str]) -> pa.Table:
    raise FileNotFoundError(path)
