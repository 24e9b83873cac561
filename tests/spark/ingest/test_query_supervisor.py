"""Real queries and how they end; see also tests/unit/ingest/test_query_supervisor.py."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.ingest.query_supervisor import QuerySupervisor

PATIENCE_S = 60.0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def start(spark: SparkSession, folder: Path, take: Callable[[DataFrame, int], None]) -> StreamingQuery:
    """Start a query over a source that needs no broker."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    writer = source.writeStream.foreachBatch(take).queryName("dc1").option("checkpointLocation", str(folder))
    return writer.trigger(processingTime="100 milliseconds").start()


def test_a_restart_waits_for_the_micro_batch_in_hand_and_so_does_a_stop_after_which_none_begins(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stop, may_end = threading.Event(), threading.Semaphore(0)
    group, begun, ended = QuerySupervisor(stop), list[int](), list[int]()

    def slow(_batch: DataFrame, batch_id: int) -> None:
        begun.append(batch_id)
        assert may_end.acquire(timeout=PATIENCE_S)
        ended.append(batch_id)

    taken = group.stop_between_batches(slow)
    group.add("dc1", SimpleNamespace(start=partial(start, spark, tmp_path, taken)))
    running = threading.Thread(target=group.run_until_stopped, daemon=True)
    running.start()
    until(lambda: begun == [0])
    group.restart("dc1", patience_seconds=0.1)
    until(lambda: not any(each.isActive for each in spark.streams.active))
    time.sleep(0.5)
    assert [each.name for each in spark.streams.active] == ["dc1"], "no other query can have its name yet"
    may_end.release()
    until(lambda: len(begun) == 2)
    stop.set()
    running.join(0.5)
    assert running.is_alive()
    may_end.release()
    running.join(PATIENCE_S)
    assert (len(begun), ended, spark.streams.active) == (2, begun, [])
    assert "query dc1 failed" not in caplog.text
