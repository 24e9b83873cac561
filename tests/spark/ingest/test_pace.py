"""A real query at a pace of ours: what Spark does between the micro-batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.ingest.pace import Pace

INTERVAL_S, LONG_S = 1.0, 12.0
PATIENCE_S = 90.0
_EVERY_LOOK = "spark.sql.streaming.noDataProgressEventInterval"


class PacedQuery:
    """Reads lines from a folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.over = spark, folder / "in", threading.Event()
        self.folder.mkdir()
        self.began: list[float] = []
        self.query: StreamingQuery

    def start(self, interval_s: float, *, is_urgent: bool) -> None:
        """Begin to read; *is_urgent* is what its micro-batches say."""
        pace = Pace(timedelta(seconds=interval_s), self.over)
        lines = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(self.folder))
        writer = lines.writeStream.option("checkpointLocation", str(self.folder.parent / "checkpoint"))
        self.query = pace.begin(self.spark, writer.foreachBatch(pace.after(self._batch, lambda: is_urgent)))

    def _batch(self, records: DataFrame, batch_id: int) -> None:
        self.began.append(time.monotonic())

    def write(self, number: int) -> None:
        """Have *number* micro-batches to do."""
        for each in range(number):
            (self.folder / f"{time.monotonic_ns()}-{each}").write_text("line\n")

    def gaps(self, number: int) -> list[float]:
        """Return the seconds between so many micro-batches, all but the first, which is cold."""
        until(lambda: len(self.began) >= number)
        return [later - earlier for earlier, later in zip(self.began[1:], self.began[2:number], strict=False)]


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Iterator[PacedQuery]:
    kept = {name: spark.conf.get(name, None) for name in (_EVERY_LOOK, "spark.sql.streaming.pollingDelay")}
    spark.conf.set(_EVERY_LOOK, "0")
    paced = PacedQuery(spark, tmp_path)
    yield paced
    paced.over.set()
    paced.query.stop()
    for name, value in kept.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def test_what_is_urgent_goes_on_at_once(query: PacedQuery) -> None:
    query.write(4)
    query.start(LONG_S, is_urgent=True)
    assert max(query.gaps(4)) < LONG_S


def test_what_is_not_begins_once_per_interval(query: PacedQuery) -> None:
    query.write(4)
    query.start(INTERVAL_S, is_urgent=False)
    assert min(query.gaps(4)) >= INTERVAL_S


def test_an_idle_query_looks_once_per_interval(query: PacedQuery) -> None:
    query.write(1)
    query.start(INTERVAL_S, is_urgent=True)
    until(lambda: len(query.query.recentProgress) >= 2)
    before, began = len(query.query.recentProgress), time.monotonic()
    time.sleep(4 * INTERVAL_S)
    looks = len(query.query.recentProgress) - before
    assert looks <= (time.monotonic() - began) / INTERVAL_S + 1
