"""Real queries side by side; pauses and poll by poll behaviour are in tests/unit/test_queries.py."""

from __future__ import annotations

import gc
import logging
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

from offset_sync.ingest import query_supervisor
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.spark import jvm
from offset_sync.spark.jvm import java

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
        writer = writer.option("checkpointLocation", str(self.folder / name))
        trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="100 milliseconds")
        return trigger.start()

    def run(self) -> threading.Thread:
        thread = threading.Thread(target=self.group.run_until_stopped, daemon=True)
        thread.start()
        return thread


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(query_supervisor, "FIRST_BACK_OFF_SECONDS", 0.1)
    return Job(spark, tmp_path)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def test_a_failing_query_is_started_again_from_where_it_was_while_the_other_goes_on(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[int] = []
    others: list[int] = []
    has_failed = threading.Event()

    def failing(batch: DataFrame, batch_id: int) -> None:
        if batch_id == 1 and not has_failed.is_set():
            has_failed.set()
            raise ValueError("what the batch said")
        seen.append(batch_id)

    job.add("dc1", failing)
    job.add("dc2", lambda batch, batch_id: others.append(batch_id))
    running = job.run()
    until(lambda: has_failed.is_set() and len(seen) >= 3)
    before = len(others)
    until(lambda: len(others) > before)
    assert seen[:3] == [0, 1, 2]
    (said,) = [record.getMessage() for record in caplog.records if record.name == query_supervisor.logger.name]
    assert said.startswith("query dc1 failed, next try in 0 s")
    assert "what the batch said" in said
    job.stop.set()
    running.join(PATIENCE_S)
    assert job.spark.streams.active == []


def test_stopping_lets_the_micro_batch_in_hand_finish_and_begins_no_other(job: Job) -> None:
    begun, may_end, ended = list[int](), threading.Event(), list[int]()

    def slow(batch: DataFrame, batch_id: int) -> None:
        begun.append(batch_id)
        assert may_end.wait(PATIENCE_S)
        ended.append(batch_id)

    job.add("dc1", slow)
    running = job.run()
    until(lambda: begun == [0])
    job.stop.set()
    running.join(0.5)
    assert running.is_alive()
    may_end.set()
    running.join(PATIENCE_S)
    assert (begun, ended, job.spark.streams.active) == ([0], [0], [])


def test_what_the_jvm_says_of_batches_is_heard_again_when_the_job_goes_on(spark: SparkSession) -> None:
    def level() -> str:
        return str(java("org.apache.logging.log4j.LogManager").getLogger(jvm._BATCHES).getLevel())

    jvm.hear_batches(is_worth_telling)  # jobs that were stopped in this JVM have left it silent
    before = level()
    jvm.silence_batches(is_worth_telling)
    assert level() == "OFF" != before
    jvm.hear_batches(is_worth_telling)
    assert level() == before


def is_worth_telling(_record: logging.LogRecord) -> bool:
    return True


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
