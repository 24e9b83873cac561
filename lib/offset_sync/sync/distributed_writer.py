"""Commits spread over the executors when there are too many groups for one client."""

from __future__ import annotations

import pickle
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.model.errors import OffsetSyncError
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.lease import Fence, TaskFence
from offset_sync.sync.reconciled import OffsetWriter

GROUPS_PER_TASK = 1000
"""Up to this many groups the driver commits itself: the requests take less time than a Spark job."""

_WATCH_S = 1.0

_OUTCOMES = pa.schema([("row", pa.int64()), ("outcome", pa.binary())])


class DistributedWriter:
    """Commits by *writer*; the writes of more than *groups_per_task* groups in tasks that share the groups.

    Each task has a writer of its own, made by *of_task* with a fence. It cannot check the driver's *fence*. It may
    write for some seconds from its own start, and is cancelled when the driver finds that it was taken over, or cannot
    verify its lease.
    """

    def __init__(
        self,
        spark: SparkSession,
        writer: OffsetWriter,
        of_task: Callable[..., OffsetWriter],
        fence: Fence,
        groups_per_task: int = GROUPS_PER_TASK,
    ) -> None:
        self._spark, self._writer, self._of_task, self._fence = spark, writer, of_task, fence
        self._groups_per_task = groups_per_task

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order; all writes of a group are made by one task."""
        tasks = -(-len({write.group_id for write in writes}) // self._groups_per_task)
        if tasks <= 1:
            return self._writer.write(writes)
        columns = {
            "row": [*range(len(writes))],
            "group_id": [each.group_id for each in writes],
            "write": [pickle.dumps(each) for each in writes],
        }
        frame = self._spark.createDataFrame(pa.table(columns)).repartition(tasks, "group_id")
        self._fence.renew()
        with _ended_when_closed(self._spark, self._fence):
            task = partial(_write_rows, self._of_task)
            found = frame.mapInArrow(task, "row bigint, outcome binary").toArrow().sort_by("row")["outcome"].to_pylist()
        # With another number of outcomes the caller has to learn here that all writes are in doubt.
        return [pickle.loads(each) for each, _ in zip(found, writes, strict=True)]


@contextmanager
def _ended_when_closed(spark: SparkSession, fence: Fence) -> Iterator[None]:
    """Cancel the Spark jobs started inside when *fence* cannot be renewed, and raise its error."""
    context, tag, is_over = spark.sparkContext, f"writes-{uuid.uuid4().hex}", threading.Event()
    problems: list[OffsetSyncError] = []

    def watch() -> None:
        while not is_over.wait(_WATCH_S):
            try:
                fence.renew()
            except OffsetSyncError as problem:
                problems.append(problem)
                context.cancelJobsWithTag(tag)
                return

    watching = threading.Thread(target=watch, name="fence of tasks", daemon=True)
    context.addJobTag(tag)
    watching.start()
    try:
        yield
    except Exception:
        if problems:
            raise problems[0] from None
        raise
    finally:
        context.removeJobTag(tag)
        is_over.set()
        watching.join()


def _write_rows(of_task: Callable[..., OffsetWriter], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    writer = of_task(fence=TaskFence())  # its time begins now
    rows = [row for batch in batches for row in batch.to_pylist()]
    outcomes = writer.write([pickle.loads(row["write"]) for row in rows])
    found = [{"row": row["row"], "outcome": pickle.dumps(each)} for row, each in zip(rows, outcomes, strict=True)]
    yield pa.RecordBatch.from_pylist(found, schema=_OUTCOMES)
