"""Maintenance of real Delta tables beside writers and followers that go on: nothing is lost, nothing is read twice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from builders.spark_tables import checkpoint_every_tenth
from offset_sync.tables import maintenance
from offset_sync.tables.catalog import OFFSET_COMMITS, RECORD_RUNS
from offset_sync.tables.delta.delta_log import NewFiles
from offset_sync.tables.delta.kernel import Transaction
from offset_sync.tables.maintenance import BEGINS_SCHEMA, Maintainer
from offset_sync.tables.store import TableStore
from tools.background import going_on

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)


def run(start: int, cluster: str = "dc1", length: int = 10) -> pa.Table:
    row = (cluster, "orders", 0, start, length, "dc1", start, NOW, NOW, NOW, None, None)
    return pa.Table.from_pylist([dict(zip(RECORD_RUNS.names, row, strict=True))], RECORD_RUNS.arrow_schema)


def begins(**by_cluster: int) -> pa.Table:
    rows = [{"cluster": c, "topic": "orders", "partition": 0, "begin": begin} for c, begin in by_cluster.items()]
    return pa.Table.from_pylist(rows, BEGINS_SCHEMA)


def rows_in(found: pa.Table) -> list[tuple[str, int]]:
    return sorted(zip(found["cluster"].to_pylist(), found["start_offset"].to_pylist(), strict=True))


def by_delta_rs(tables: TableStore) -> list[tuple[str, int]]:
    return rows_in(DeltaTable(tables.path(RECORD_RUNS)).to_pyarrow_table())


@pytest.fixture
def maintainer(spark: SparkSession, tables: TableStore) -> Maintainer:
    made = Maintainer(spark, timedelta(hours=1))
    made.prepare(tables.path(RECORD_RUNS), RECORD_RUNS)
    return made


def fill(tables: TableStore, *starts: int) -> None:
    for start in starts:
        for cluster in ("dc1", "dc2"):
            tables.append(RECORD_RUNS, run(start, cluster))


def test_only_what_ends_below_a_partitions_begin_is_cut(tables: TableStore, maintainer: Maintainer) -> None:
    fill(tables, 0, 10, 20, 30)
    tables.append(RECORD_RUNS, run(20, length=0))
    tables.append(RECORD_RUNS, run(15, length=0))
    assert maintainer.cut(tables.path(RECORD_RUNS), begins(dc1=20)) == 3
    assert by_delta_rs(tables) == [("dc1", 20), ("dc1", 20), ("dc1", 30), *(("dc2", n) for n in (0, 10, 20, 30))]
    assert maintainer.cut(tables.path(RECORD_RUNS), begins(dc1=20, dc2=15)) == 1
    assert ("dc2", 10) in by_delta_rs(tables)
    assert maintainer.cut(tables.path(RECORD_RUNS), begins(dc1=20, dc2=15)) == 0


def test_files_are_not_written_anew_for_a_few_rows(tables: TableStore, maintainer: Maintainer) -> None:
    path = tables.path(RECORD_RUNS)
    tables.append(RECORD_RUNS, pa.concat_tables([run(start) for start in range(0, 300, 10)]))
    before = tables.version(RECORD_RUNS)
    assert maintainer.cut(path, begins(dc1=20)) == 0
    assert tables.version(RECORD_RUNS) == before
    assert maintainer.cut(path, begins(dc1=30)) == 3


def test_a_compacted_and_cut_table_is_plain_and_says_that_rows_may_go(
    tables: TableStore, maintainer: Maintainer
) -> None:
    path = tables.path(RECORD_RUNS)
    fill(tables, *range(0, 100, 10))
    maintainer.cut(path, begins(dc1=50, dc2=50))
    maintainer.compact(path)
    size = maintainer.size(path)
    assert (size.files, size.size > 0) == (1, True)
    assert by_delta_rs(tables) == [(cluster, n) for cluster in ("dc1", "dc2") for n in range(50, 100, 10)]
    found = DeltaTable(path)
    assert found.protocol().min_reader_version == 1
    assert not {"deletionVectors", "columnMapping", "v2Checkpoint"} & set(found.protocol().writer_features or [])
    assert found.metadata().configuration["delta.appendOnly"] == "false"
    version = tables.version(RECORD_RUNS)
    maintainer.compact(path)
    assert tables.version(RECORD_RUNS) == version


def test_a_table_of_an_earlier_version_learns_that_rows_may_go_and_others_never_do(
    spark: SparkSession, tables: TableStore
) -> None:
    path, maintainer = tables.path(RECORD_RUNS), Maintainer(spark, timedelta(hours=1))
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    assert (maintainer.prepare(path, RECORD_RUNS), maintainer.prepare(path, RECORD_RUNS)) == (True, False)
    assert DeltaTable(path).metadata().configuration["delta.appendOnly"] == "false"
    maintainer.prepare(tables.path(OFFSET_COMMITS), OFFSET_COMMITS)
    assert DeltaTable(tables.path(OFFSET_COMMITS)).metadata().configuration["delta.appendOnly"] == "true"


def test_an_append_that_began_before_a_property_was_set_succeeds_all_the_same(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, calls = Transaction.add, []

    def add_slowly(self: Transaction, rows: pa.Table) -> Any:
        if not calls:
            Maintainer(tables.spark, timedelta(hours=7)).prepare(tables.path(RECORD_RUNS), RECORD_RUNS)
        calls.append(1)
        return add(self, rows)

    monkeypatch.setattr(Transaction, "add", add_slowly)
    tables.append(RECORD_RUNS, run(0), ("query", 1))
    assert (by_delta_rs(tables), len(calls)) == ([("dc1", 0)], 2)


def test_a_file_that_waited_too_long_for_its_entry_is_written_anew(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 0.0, 1000.0, 1000.0, 1000.0, 1001.0])
    monkeypatch.setattr("offset_sync.tables.delta.append.time.time", lambda: next(seconds, 1001.0))
    tables.append(RECORD_RUNS, run(0), ("query", 1))
    assert by_delta_rs(tables) == [("dc1", 0)]
    assert len(list(Path(tables.path(RECORD_RUNS)).glob("*.parquet"))) == 2


def test_two_that_cut_at_the_same_time_do_not_both_succeed_and_no_row_comes_twice(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tables.path(RECORD_RUNS)
    fill(tables, 0, 10, 20)
    enter = maintainer._enter

    def enter_late(*arguments: Any) -> None:
        monkeypatch.setattr(maintainer, "_enter", enter)
        assert maintainer.cut(path, begins(dc2=10)) == 1
        enter(*arguments)

    monkeypatch.setattr(maintainer, "_enter", enter_late)
    with pytest.raises(RuntimeError, match="somebody else has removed files"):
        maintainer.cut(path, begins(dc1=10, dc2=20))
    assert by_delta_rs(tables) == [("dc1", 0), ("dc1", 10), ("dc1", 20), ("dc2", 10), ("dc2", 20)]
    assert maintainer.cut(path, begins(dc1=10, dc2=20)) == 2


def test_a_cut_that_would_lose_a_row_is_refused(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(RECORD_RUNS, pa.concat_tables([run(0), run(10), run(20)]))
    monkeypatch.setattr(NewFiles, "rows", 1)
    with pytest.raises(RuntimeError, match="1 rows were to be kept instead of 2; nothing is removed"):
        maintainer.cut(tables.path(RECORD_RUNS), begins(dc1=10))
    assert by_delta_rs(tables) == [("dc1", 0), ("dc1", 10), ("dc1", 20)]


@pytest.mark.parametrize("put_together", [Maintainer.compact, lambda made, path: made.sort(path, RECORD_RUNS)])
def test_beside_writers_and_a_follower_no_row_is_lost_and_none_comes_twice(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch, put_together: Callable[..., None]
) -> None:
    monkeypatch.setattr(maintenance, "_LEAST_SHARE", 0.0)  # one writer may be far ahead of the other
    path = tables.path(RECORD_RUNS)
    written: dict[str, list[int]] = {"dc1": [], "dc2": []}
    followed, known = list[tuple[str, int]](), [tables.version(RECORD_RUNS)]

    def writer(cluster: str) -> Callable[[int], None]:
        def write(number: int) -> None:
            tables.append(RECORD_RUNS, run(10 * number, cluster), (cluster, number))
            written[cluster].append(10 * number)

        return write

    def follow(_number: int) -> None:
        until = tables.version(RECORD_RUNS, known[0])
        followed.extend(rows_in(tables.rows_since(RECORD_RUNS, known[0], until)))
        known[0] = until
        time.sleep(0.05)

    cut_at = 0
    with going_on(writer("dc1"), writer("dc2"), follow) as errors:
        for enough in (8, 16):
            while min(map(len, written.values())) < enough and not errors:
                time.sleep(0.05)
            cut_at = 10 * (len(written["dc1"]) // 2)
            assert maintainer.cut(path, begins(dc1=cut_at)) > 0
            put_together(maintainer, path)
            maintainer.clean_up(path)
    assert errors == []
    follow(0)
    assert followed == sorted(set(followed), key=followed.index)
    assert sorted(followed) == sorted((cluster, n) for cluster, mine in written.items() for n in mine)
    left = [("dc1", n) for n in written["dc1"] if n >= cut_at] + [("dc2", n) for n in written["dc2"]]
    assert by_delta_rs(tables) == left
    assert rows_in(tables.all_rows(RECORD_RUNS)) == left


def test_what_no_version_needs_any_more_goes_and_a_follower_that_was_away_reads_the_whole_table(
    spark: SparkSession, tables: TableStore
) -> None:
    path = tables.path(RECORD_RUNS)
    maintainer = Maintainer(spark, timedelta(seconds=1))
    maintainer.prepare(path, RECORD_RUNS)
    checkpoint_every_tenth(spark, path)
    fill(tables, *range(0, 120, 10))
    away_since, current = 4, tables.version(RECORD_RUNS)
    maintainer.compact(path)
    before = maintainer.size(path).on_disk
    fill(tables, *range(120, 240, 10))
    maintainer.compact(path)
    an_hour_ago = time.time() - 3600
    # One after the other, as they were written: Delta leaves entries that seem older than those before them.
    for number, entry in enumerate(sorted(Path(path, "_delta_log").glob("0*"))):
        os.utime(entry, (an_hour_ago + number, an_hour_ago + number))
    time.sleep(1.1)
    maintainer.clean_up(path)
    assert not Path(path, "_delta_log", f"{away_since + 1:020d}.json").exists()
    assert len(list(Path(path).glob("*.parquet"))) == 1
    assert maintainer.size(path).on_disk < before
    assert tables.version(RECORD_RUNS, away_since) == tables.version(RECORD_RUNS) > current
    missed = tables.rows_since(RECORD_RUNS, away_since, tables.version(RECORD_RUNS, away_since))
    assert len(rows_in(missed)) == 48 == len(set(rows_in(missed)))
    assert tables.version(RECORD_RUNS, tables.version(RECORD_RUNS)) == tables.version(RECORD_RUNS)
    fill(tables, 240)
    assert len(by_delta_rs(tables)) == 50


def test_what_lies_about_goes_when_it_is_old_and_delta_is_asked_only_then(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, asked = tables.path(RECORD_RUNS), list[str]()
    fill(tables, 0, 10)
    ask = SparkSession.sql
    monkeypatch.setattr(SparkSession, "sql", lambda spark, words: asked.append(words) or ask(spark, words))
    for file in (young := Path(path, "young.parquet"), old := Path(path, "old.parquet")):
        file.write_bytes(b"nobody has entered this into the log")
    for file in {*Path(path).glob("*.parquet")} - {young}:
        os.utime(file, (time.time() - 7200, time.time() - 7200))
    maintainer.clean_up(path)
    assert (old.exists(), young.exists(), asked) == (False, True, [f"VACUUM delta.`{path}`"])
    maintainer.clean_up(path)
    assert len(asked) == 1
    assert len(by_delta_rs(tables)) == 4
