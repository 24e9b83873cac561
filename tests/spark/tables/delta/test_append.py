"""Appends without a Spark job: readers find them by their statistics, writers at the same time all succeed."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors.exceptions import captured
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from builders.spark_tables import checkpoint_every_tenth
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.delta.append import DeltaAppender
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.jvm import JavaError
from offset_sync.tables.delta.kernel import Kernel, Transaction
from offset_sync.tables.delta.transaction_log import latest_version, read_added_rows
from offset_sync.tables.store import TableStore


def run(start: int, topic: str = "orders") -> pa.Table:
    row: dict[str, Any] = dict.fromkeys(RECORD_RUNS.names) | {"topic": topic, "partition": 0, "start_offset": start}
    return pa.Table.from_pylist([row], RECORD_RUNS.arrow_schema)


def read_by_spark(tables: TableStore) -> DataFrame:
    return tables.spark.read.format("delta").load(tables.path(RECORD_RUNS))


def starts(tables: TableStore) -> list[int]:
    return sorted(row.start_offset for row in read_by_spark(tables).collect())


def test_readers_skip_files_by_the_statistics_and_find_what_they_look_for(tables: TableStore) -> None:
    for start in range(5):
        tables.append(RECORD_RUNS, run(start, f"topic-{start}"))
    chosen = read_by_spark(tables).where((F.col("topic") == "topic-3") & (F.col("start_offset") > 2))
    assert [row.start_offset for row in chosen.collect()] == [3]
    metrics = chosen._jdf.queryExecution().executedPlan().collectLeaves().head().metrics()
    assert metrics.apply("numFiles").value() == 1
    assert read_by_spark(tables).where("topic = 'topic-9'").count() == 0


def test_an_append_that_goes_well_throws_nothing(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each exception of the JVM costs 60 ms: pyspark asks in fourteen calls what it is."""
    tables.append(RECORD_RUNS, run(0))
    thrown: list[str] = []
    monkeypatch.setattr(captured, "convert_exception", lambda problem: thrown.append(problem.toString()))
    for start in range(1, 13):  # with a checkpoint between them
        tables.append(RECORD_RUNS, run(start))
    monkeypatch.undo()
    assert thrown == []
    assert starts(tables) == list(range(13))


def test_writers_at_the_same_time_all_succeed_and_each_version_of_one_only_once(
    spark: SparkSession, tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each with an appender of its own, as jobs have that write to the same table.
    ready, appenders = threading.Barrier(8), [DeltaAppender(spark) for _ in range(8)]
    add = Transaction.add

    def add_and_wait(self: Transaction, rows: pa.Table) -> Any:
        actions = add(self, rows)
        ready.wait(60)
        return actions

    monkeypatch.setattr(Transaction, "add", add_and_wait)

    def write(worker: int) -> None:
        for version in range(8):
            ready.wait(60)
            rows, writer = run(10 * version + worker % 4), (f"query-{worker % 4}", version)
            appenders[worker].append(tables.path(RECORD_RUNS), rows, writer)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert starts(tables) == sorted(10 * version + worker for version in range(8) for worker in range(4))


def test_the_log_is_looked_through_only_after_a_checkpoint_or_somebody_elses_commit(
    spark: SparkSession, tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, newest, path = [], Kernel.newest, tables.path(RECORD_RUNS)
    appender = DeltaAppender(spark)
    monkeypatch.setattr(Kernel, "newest", lambda self, path: looks.append(path) or newest(self, path))
    for version in range(20):
        appender.append(path, run(version), ("query", version))
    assert looks == [path]
    DeltaAppender(spark).append(path, run(100), ("other", 0))
    for version in range(15, 25):
        appender.append(path, run(version), ("query", version))
    assert starts(tables) == [*range(25), 100]
    assert len(looks) == 3  # the other's own, and one after its commit was met


def test_what_was_changed_beside_an_appender_does_not_stop_it(spark: SparkSession, tables: TableStore) -> None:
    appender, path = DeltaAppender(spark), tables.path(RECORD_RUNS)
    appender.append(path, run(0), ("query", 0))
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    appender.append(path, run(1), ("query", 1))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE start_offset = 0")
    appender.append(path, run(2), ("query", 2))
    spark.sql(f"OPTIMIZE delta.`{path}`")
    appender.append(path, run(3), ("query", 3))
    assert starts(tables) == [1, 2, 3]


def test_spark_takes_the_log_on_from_where_kernel_left_it_and_back(spark: SparkSession, tables: TableStore) -> None:
    checkpoint_every_tenth(spark, tables.path(RECORD_RUNS))
    for version in range(14):
        tables.append(RECORD_RUNS, run(version), ("query", version))
    frame = spark.createDataFrame(run(100))
    write = frame.write.format("delta").mode("append").option("txnAppId", "query")
    write.option("txnVersion", 13).save(tables.path(RECORD_RUNS))
    assert starts(tables) == list(range(14))
    write.option("txnVersion", 14).save(tables.path(RECORD_RUNS))
    tables.append(RECORD_RUNS, run(200), ("query", 14))
    tables.append(RECORD_RUNS, run(300), ("query", 15))
    assert starts(tables) == [*range(14), 100, 300]
    assert list(Path(tables.path(RECORD_RUNS), "_delta_log").glob("*.checkpoint*.parquet"))


def test_a_table_that_cannot_be_written_is_an_error_and_its_rows_are_not_seen(
    spark: SparkSession, tables: TableStore, tmp_path: Path
) -> None:
    with pytest.raises(JavaError, match="no-table"):
        DeltaAppender(spark).append(str(tmp_path / "no-table"), run(1))
    log = Path(tables.path(RECORD_RUNS), "_delta_log")
    later = log / f"{1:020d}.json"
    later.write_text(json.dumps({"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}) + "\n")
    with pytest.raises(JavaError):
        tables.append(RECORD_RUNS, run(1), ("query", 0))
    later.unlink()
    assert starts(tables) == []


def test_what_was_added_is_read_from_files_wherever_the_log_says_they_are(
    tables: TableStore, spark: SparkSession
) -> None:
    path, files = tables.path(RECORD_RUNS), HadoopFiles(spark)
    for start in range(3):
        tables.append(RECORD_RUNS, run(start, "a b%20c"))
    assert latest_version(files, path, 0) == latest_version(files, path, 2) == tables.version(RECORD_RUNS) == 3
    for version, prefix in ((2, f"{path}/"), (3, f"file:{path}/")):
        entry = Path(path, "_delta_log", f"{version:020d}.json")
        entry.write_text(entry.read_text().replace('"path":"', f'"path":"{prefix}'))
        entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)
    found = read_added_rows(files, path, 0, 3, RECORD_RUNS.arrow_schema)
    assert sorted(found["start_offset"].to_pylist()) == [0, 1, 2]
    with pytest.raises(FileNotFoundError, match=f"{4:020d}.json"):
        read_added_rows(files, path, 2, 4, RECORD_RUNS.arrow_schema)
