"""Files that tasks write: no reader sees them before their entry, and they are entered with what the driver has."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks

FAR = datetime(5000, 1, 2, 3, 4, 5, 6, timezone.utc)


def frame(spark: SparkSession, first: int, end: int) -> DataFrame:
    columns = {"topic": "'orders'", "partition": "0", "start_offset": "id", "max_timestamp": f"TIMESTAMP '{FAR}'"}
    rows = spark.range(first, end, 1, 2)
    return rows.selectExpr(
        *[
            f"CAST({columns.get(each.name)} AS {each.type}) AS {each.name}".replace("None", "NULL")
            for each in RECORD_RUNS.columns
        ]
    )


def run(start: int) -> pa.Table:
    row = dict.fromkeys(RECORD_RUNS.names) | {"topic": "orders", "partition": 0, "start_offset": start}
    return pa.Table.from_pylist([row], RECORD_RUNS.arrow_schema)


def starts(spark: SparkSession, tables: TableStore) -> list[int]:
    rows = spark.read.format("delta").load(tables.path(RECORD_RUNS))
    return sorted(row.start_offset for row in rows.collect())


def test_files_of_tasks_and_a_row_of_the_driver_are_one_entry_and_are_written_once(
    spark: SparkSession, tables: TableStore
) -> None:
    for _again in range(2):
        frames = frame(spark, 0, 10), frame(spark, 10, 14)
        written = [file for each in frames for file in write_by_tasks(tables, RECORD_RUNS, each, lambda rows: rows)]
        assert [each.rows for each in written] == [5, 5, 2, 2]
        tables.append(RECORD_RUNS, run(99), ("query", 5), written)
    assert tables.version(RECORD_RUNS) == 1
    assert starts(spark, tables) == [*range(14), 99]
    lines = Path(tables.path(RECORD_RUNS), "_delta_log", f"{1:020d}.json").read_text().splitlines()
    added = [json.loads(line)["add"] for line in lines if '"add"' in line]
    assert all("/" not in each["path"] for each in added)
    facts = sorted(
        (s["minValues"]["start_offset"], s["maxValues"]["start_offset"])
        for s in (json.loads(each["stats"]) for each in added)
    )
    assert facts == [(0, 4), (5, 9), (10, 11), (12, 13), (99, 99)]
    chosen = spark.read.format("delta").load(tables.path(RECORD_RUNS)).where("start_offset > 50")
    assert [row.start_offset for row in chosen.collect()] == [99]
    assert set(tables.all_rows(RECORD_RUNS).column("max_timestamp").to_pylist()) == {FAR, None}, "of any year"
