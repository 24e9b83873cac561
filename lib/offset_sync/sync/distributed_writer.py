"""Commits spread over the executors when there are too many groups for one client."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.model.errors import OffsetSyncError
from offset_sync.model.values import OffsetWrite, Outcome, Rule, WriteOutcome
from offset_sync.state.lease import Fence, TaskFence
from offset_sync.sync.reconciliation import OffsetWriter

GROUPS_PER_TASK = 1000
"""Up to this many groups the driver commits itself: the requests take less time than a Spark job."""

_WATCH_S = 1.0

_WRITES = pa.schema(
    [
        ("row", pa.int64()),
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("rule", pa.string()),
        ("expected_offset", pa.int64()),
        ("refresh", pa.bool_()),
        ("moves_forward", pa.bool_()),
        ("metadata", pa.string()),
    ]
)
_OUTCOMES = pa.schema(
    [
        ("row", pa.int64()),
        ("outcome", pa.string()),
        ("previous_offset", pa.int64()),
        ("error", pa.string()),
        ("is_read", pa.bool_()),
        ("is_in_doubt", pa.bool_()),
    ]
)
_AS_THEY_ARE = _OUTCOMES.names[2:]
_OUTCOMES_SQL = "row bigint, outcome string, previous_offset bigint, error string, is_read boolean, is_in_doubt boolean"


class SharedWriter(Protocol):
    """The writer pickled to the tasks, see :class:`offset_sync.sync.offset_writer.TargetWriter`."""

    def for_tasks(self) -> SharedWriter:
        """Return one without the driver's collaborators."""

    def fenced_by(self, fence: Fence) -> OffsetWriter:
        """Return one that writes as long as *fence* is open."""


class TaskWrites:
    """Commits in tasks that share the groups; *fence* is the driver's.

    A task cannot check that fence. It may write for some seconds from its own start, and is cancelled when the driver
    finds that it was taken over, or cannot verify its lease.
    """

    def __init__(self, spark: SparkSession, fence: Fence, groups_per_task: int = GROUPS_PER_TASK) -> None:
        self._spark, self._fence, self._groups_per_task = spark, fence, groups_per_task

    def tasks(self, writes: Sequence[OffsetWrite]) -> int:
        """Return how many tasks would share *writes*; with one the driver writes itself."""
        return -(-len({write.group_id for write in writes}) // self._groups_per_task)

    def write(self, writer: SharedWriter, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order; all writes of a group are made by one task."""
        frame = self._spark.createDataFrame(_to_table(writes)).repartition(self.tasks(writes), "group_id")
        self._fence.renew()
        with _ended_when_closed(self._spark, self._fence):
            outcomes = frame.mapInArrow(_WriteTask(writer.for_tasks()), _OUTCOMES_SQL).toArrow().sort_by("row")
        return [_to_outcome(write, found) for write, found in zip(writes, outcomes.to_pylist(), strict=True)]


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


class _WriteTask:
    def __init__(self, writer: SharedWriter) -> None:
        self._writer = writer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writer = self._writer.fenced_by(TaskFence())  # its time begins now
        rows = [row for batch in batches for row in batch.to_pylist()]
        writes = [_to_write(row) for row in rows]
        found = [
            {
                "row": row["row"],
                "outcome": outcome.outcome.name,
                **{name: getattr(outcome, name) for name in _AS_THEY_ARE},
            }
            for row, outcome in zip(rows, writer.write(writes), strict=True)
        ]
        yield pa.RecordBatch.from_pylist(found, schema=_OUTCOMES)


def _to_table(writes: Sequence[OffsetWrite]) -> pa.Table:
    names = _WRITES.names[1:]
    columns: dict[str, list[object]] = {name: [getattr(write, name) for write in writes] for name in names}
    columns["rule"] = [write.rule.name for write in writes]
    return pa.table({"row": list(range(len(writes))), **columns}, schema=_WRITES)


def _to_write(row: dict[str, Any]) -> OffsetWrite:
    return OffsetWrite(**{name: row[name] for name in _WRITES.names[1:]} | {"rule": Rule[row["rule"]]})


def _to_outcome(write: OffsetWrite, found: dict[str, Any]) -> WriteOutcome:
    fields = {name: found[name] for name in _AS_THEY_ARE}
    return WriteOutcome(write.group_id, write.topic, write.partition, Outcome[found["outcome"]], **fields)
