"""Large micro-batches: tasks write what they have made, the tables are those of small ones, no run is collected."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from fakes.indexing import ORDERS
from fakes.spark_indexing import BUILDER, Site, any_headers
from offset_sync.ingest import checkpoint, map_batches, record_indexer
from offset_sync.ingest.batch_rows import to_runs
from offset_sync.ingest.checkpoint import DRIVER_MAX_RECORDS
from offset_sync.ingest.kept_runs import cut_by_tasks, release_all
from offset_sync.tables.catalog import QUARANTINE, RECORD_RUNS
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks

FEW = 10
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows came to the driver, each time that any did."""
    found: list[int] = []
    collect = ClassicFrame.toArrow

    def counted(self: ClassicFrame) -> pa.Table:
        rows = collect(self)
        found.append(rows.num_rows)
        return rows

    monkeypatch.setattr(ClassicFrame, "toArrow", counted)
    return found


def few_are(records: int, patch: pytest.MonkeyPatch) -> None:
    """Have the driver work on so many records by itself, and take so many rows of what tasks have made."""
    for module in (checkpoint, map_batches):
        patch.setattr(module, "DRIVER_MAX_RECORDS", records)


@pytest.fixture
def by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten records are many, and this session passes for one that has executors."""
    few_are(FEW, monkeypatch)
    monkeypatch.setattr(record_indexer, "has_executors", lambda _records: True)


def of_sites(spark: SparkSession, root: Path, patch: pytest.MonkeyPatch, story: Callable[[Site], None]) -> list[Site]:
    """Return what went through *story* in small micro-batches, in large ones, and in large ones with executors."""
    found = []
    ways = (("small", DRIVER_MAX_RECORDS, False), ("local", FEW, False), ("large", FEW, True))
    for name, few, elsewhere in ways:
        tables, folder = TableStore(str(root / name)), root / f"{name}-read"
        tables.create()
        folder.mkdir()
        few_are(few, patch)
        patch.setattr(record_indexer, "has_executors", lambda _records, answer=elsewhere: answer)
        found.append(Site(spark, tables, folder))
        story(found[-1])
    return found


def check_same(small: Site, large: Site) -> None:
    assert small.rows(QUARANTINE, "seen_at") == large.rows(QUARANTINE, "seen_at")
    assert small.rows(RECORD_RUNS, "indexed_at", "complete_until") == large.rows(
        RECORD_RUNS, "indexed_at", "complete_until"
    )
    assert small.tables.version(RECORD_RUNS) == large.tables.version(RECORD_RUNS)


def test_tables_are_the_same_by_any_writer_and_however_often(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def story(site: Site) -> None:
        for _restart in range(2):
            site.index(0, 120, any_headers(1))
        site.index(1, 60, any_headers(2))

    small, local, large = of_sites(spark, tmp_path, monkeypatch, story)
    check_same(small, local)
    check_same(small, large)
    runs = large.tables.all_rows(RECORD_RUNS)
    assert pc.sum(runs.column("length")).as_py() == 3 * 180
    assert len(runs.column("indexed_at").unique()) == 2
    assert large.tables.all_rows(QUARANTINE).num_rows > 4 * FEW
    assert large.progress.backfill().records == small.progress.backfill().records == 3 * (2 * 120 + 60)


def test_what_has_other_records_since_is_read_again_and_its_former_rows_do_not_count(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def story(site: Site) -> None:
        site.index(0, 50, any_headers(1))
        site.recreate("orders-2")
        site.index(1, 50, any_headers(2))
        site.recreate("orders-3")
        # Written before the change was known: all but the records read again are a repetition.
        site.index(1, 50, any_headers(2))

    small, local, large = of_sites(spark, tmp_path, monkeypatch, story)
    check_same(small, local)
    check_same(small, large)
    runs = large.tables.all_rows(RECORD_RUNS)
    assert pc.sum(runs.column("length")).as_py() == 3 * 50 + (2 * 100 + 50) + 2 * 100


def kept_by(spark: SparkSession) -> set[int]:
    """Data that Spark keeps for all, other tests among them."""
    return set(spark.sparkContext._jsc.getPersistentRDDs())


def test_records_are_read_once_and_no_row_of_theirs_comes_to_the_driver(
    spark: SparkSession, tables: TableStore, tmp_path: Path, by_tasks: None, collected: list[int]
) -> None:
    (folder := tmp_path / "read").mkdir()
    site, before = Site(spark, tables, folder), kept_by(spark)
    seen = []
    for batch_id, count in enumerate((100, 300)):
        site.index(batch_id, count, any_headers(batch_id))
        seen.append(sorted(collected))
        collected.clear()
        assert site.tasks_that_read() == 2 * (batch_id + 1)
    assert seen[0] == seen[1]
    assert sum(seen[0]) <= 2 * (FEW + 1) + 3 * 3 + 2, "the last are of the two files that tasks have written"
    assert kept_by(spark) <= before


def test_rows_of_another_attempt_of_a_task_than_the_one_that_was_checked_are_not_written(
    spark: SparkSession, tables: TableStore, tmp_path: Path, by_tasks: None
) -> None:
    (folder := tmp_path / "read").mkdir()
    records = Site(spark, tables, folder).frame({ORDERS: (0, 100)}, any_headers(1))
    to_written = partial(to_runs, alias="Y", now=EPOCH)
    checked, later = (cut_by_tasks(records, BUILDER, ["X"]).kept[0] for _attempt in range(2))
    assert write_by_tasks(tables, RECORD_RUNS, checked.rows, checked.checked(to_written))
    with pytest.raises(Exception, match="a task attempt that was not checked"):
        write_by_tasks(tables, RECORD_RUNS, later.rows, checked.checked(to_written))
    release_all([checked, later])
