"""What an append starts on a local disk, and that what replaces a file still replaces it at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from builders.spark_tables import checkpoint_every_tenth
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.delta.append import DeltaAppender
from offset_sync.tables.delta.jvm import java
from offset_sync.tables.store import TableStore


def run(start: int) -> pa.Table:
    row: dict[str, Any] = dict.fromkeys(RECORD_RUNS.names) | {"topic": "orders", "partition": 0, "start_offset": start}
    return pa.Table.from_pylist([row], RECORD_RUNS.arrow_schema)


def faults_of_children() -> int:
    """Return how many pages all processes have asked for that the JVM has started and that have ended."""
    stat = Path(f"/proc/{java('java.lang.ProcessHandle').current().pid()}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[8])


def test_an_append_has_hadoop_start_few_processes(spark: SparkSession, tables: TableStore) -> None:
    """Ten without our choice of an engine, and two with it."""
    path, faults = tables.path(RECORD_RUNS), dict[str, int]()
    ours, usual = DeltaAppender(spark), DeltaAppender(spark)
    usual.kernel._local_engine = usual.kernel._engine
    for name, appender in {"ours": ours, "usual": usual}.items():
        appender.append(path, run(0))  # what is due once
        before = faults_of_children()
        for start in range(4):
            appender.append(path, run(start))
        faults[name] = faults_of_children() - before
    assert 0 < faults["ours"] < faults["usual"] / 3


def test_no_second_file_of_checksums_lies_beside_an_entry(tables: TableStore) -> None:
    for start in range(3):
        tables.append(RECORD_RUNS, run(start))
    names = {each.name for each in Path(tables.path(RECORD_RUNS), "_delta_log").iterdir()}
    assert {f"{3:020d}.json", f"{3:020d}.crc"} <= names
    assert [name for name in names if name.startswith(".")] == []


def test_which_checkpoint_is_the_last_is_put_in_the_place_of_the_one_before_and_not_written_into_it(
    spark: SparkSession, tables: TableStore
) -> None:
    checkpoint_every_tenth(spark, tables.path(RECORD_RUNS))
    last, files = Path(tables.path(RECORD_RUNS), "_delta_log", "_last_checkpoint"), set[int]()
    with_content = []
    for start in range(25):
        tables.append(RECORD_RUNS, run(start))
        if last.exists() and last.stat().st_ino not in files:
            files.add(last.stat().st_ino)
            with_content.append((last.open(), last.read_text()))
    assert len(files) == 2
    for opened, text in with_content:  # whoever has opened it reads what it was
        with opened:
            assert opened.read() == text
