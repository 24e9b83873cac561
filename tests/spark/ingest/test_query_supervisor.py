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

from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.model.errors import TableError
from offset_sync.tables.files import Files
from tools.waiting import until

PATIENCE_S = 60.0


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


class Reader:
    """Runs a query of numbers, one micro-batch at a time, over the checkpoint in *folder*."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.checkpoint = Checkpoint(Files(), str(folder))
        self.read: list[tuple[str, int, list[int]]] = []  # by which query, in which batch

    def run(self) -> None:
        """Take in the next micro-batch, or the one under way."""

        def take(batch: DataFrame, batch_id: int) -> None:
            numbers = sorted(row.value for row in batch.collect())
            self.read.append((Checkpoint(Files(), str(self.folder)).query_id(), batch_id, numbers))

        source = self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
        writer = source.writeStream.foreachBatch(take).option("checkpointLocation", str(self.folder))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(60)
        assert query.exception() is None

    def content(self) -> dict[Path, bytes]:
        """Return all files of the checkpoint."""
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


def test_after_a_power_failure_a_query_goes_on_where_it_was_or_says_what_to_do(
    spark: SparkSession, tmp_path: Path
) -> None:
    reader = Reader(spark, tmp_path / "query")
    for _ in range(3):
        reader.run()
    before, checkpoint = reader.content(), reader.checkpoint
    checkpoint.repair()
    assert reader.content() == before, "what is whole stays"
    assert checkpoint.last_committed() == 2

    # A micro-batch whose end was not stored is repeated as it was planned.
    (reader.folder / "commits" / "2").write_bytes(b"")
    checkpoint.repair()
    reader.run()
    assert reader.read[3] == reader.read[2]

    # The newest plan is made again, by what the tables take for another query.
    for number, left in enumerate((b"", b"\0" * 100, before[reader.folder / "offsets" / "2"][:-1])):
        newest = str(checkpoint.last_committed())
        (reader.folder / "commits" / newest).unlink()
        (reader.folder / "offsets" / newest).write_bytes(left)
        Checkpoint(Files(), str(reader.folder)).repair()
        reader.run()
        planned, again = reader.read[-2:]
        assert (again[1], again[2][:2]) == (planned[1], planned[2][:2]), number
        assert again[0] != planned[0]

    # The one before it is refused.
    before_newest = f"offsets/{(checkpoint.last_committed() or 0) - 1}"
    (reader.folder / before_newest).write_bytes(b"")
    with pytest.raises(
        TableError, match=f"{before_newest}: empty or truncated, and later files depend on it; delete the folder"
    ):
        checkpoint.repair()
    assert (reader.folder / before_newest).exists()
