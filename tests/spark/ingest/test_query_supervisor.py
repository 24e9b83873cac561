"""Real queries: how they end, and what Spark keeps of them; see also tests/unit/ingest/test_query_supervisor.py."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.ingest.query_supervisor import QuerySupervisor

PATIENCE_S = 60.0
Batch = Callable[[DataFrame, int], None]


class Job:
    """Starts queries over a source that needs no broker."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.stop = spark, folder, threading.Event()
        self.group = QuerySupervisor(self.stop)

    def add(self, name: str, batch: Batch, *, once: bool = False) -> None:
        self.group.add(name, SimpleNamespace(start=partial(self._start, name, batch, once)))

    def _start(self, name: str, batch: Batch, once: bool) -> StreamingQuery:
        source = self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5)
        writer = source.load().writeStream.foreachBatch(self.group.stop_between_batches(batch))
        writer = writer.queryName(name).option("checkpointLocation", str(self.folder / name))
        trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="100 milliseconds")
        return trigger.start()

    def run(self) -> threading.Thread:
        thread = threading.Thread(target=self.group.run_until_stopped, daemon=True)
        thread.start()
        return thread


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def test_a_restart_waits_for_the_micro_batch_in_hand_and_so_does_a_stop_after_which_none_begins(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job, may_end = Job(spark, tmp_path), threading.Semaphore(0)
    begun, ended = list[int](), list[int]()

    def slow(batch: DataFrame, batch_id: int) -> None:
        begun.append(batch_id)
        assert may_end.acquire(timeout=PATIENCE_S)
        ended.append(batch_id)

    job.add("dc1", slow)
    running = job.run()
    until(lambda: begun == [0])
    job.group.restart("dc1", patience_seconds=0.1)
    until(lambda: not any(each.isActive for each in spark.streams.active))
    time.sleep(0.5)
    assert [each.name for each in spark.streams.active] == ["dc1"], "no other query can have its name yet"
    may_end.release()
    until(lambda: len(begun) == 2)
    job.stop.set()
    running.join(0.5)
    assert running.is_alive()
    may_end.release()
    running.join(PATIENCE_S)
    assert (len(begun), ended, spark.streams.active) == (2, begun, [])
    assert "query dc1 failed" not in caplog.text


class Everything:
    """What a job knows."""

    def take(self, _batch: DataFrame, _batch_id: int) -> None:
        """Take a micro-batch in."""


def test_spark_keeps_nothing_of_a_job_that_has_ended(spark: SparkSession, tmp_path: Path) -> None:
    """A job that restarts in the same process would have all of its memory twice, and its clients."""
    job, known = Job(spark, tmp_path), Everything()
    job.add("dc1", known.take, once=True)
    assert job.group.run_once() == {}
    ended = [weakref.ref(each) for each in (known, job.group)]
    del job, known
    gc.collect()
    assert [each() for each in ended] == [None, None]
