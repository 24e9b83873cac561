"""Commits spread over the executors, for when there are too many groups for one client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.model.values import OffsetWrite, Outcome, Rule, WriteOutcome
from offset_sync.sync.reconciliation import OffsetWriter

GROUPS_PER_TASK = 1000
"""Up to so many groups the driver commits by itself: the requests take less time than a Spark job would."""

_WRITES = pa.schema(
    [
        ("row", pa.int64()),
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("metadata", pa.string()),
        ("rule", pa.string()),
        ("expected_offset", pa.int64()),
        ("refresh", pa.bool_()),
    ]
)
_OUTCOMES = pa.schema(
    [("row", pa.int64()), ("outcome", pa.string()), ("previous_offset", pa.int64()), ("error", pa.string())]
)
_OUTCOMES_SQL = "row bigint, outcome string, previous_offset bigint, error string"


class DistributedWriter:
    """Commits with *writer*: in the driver or, from a thousand groups on, in tasks that share the groups.

    *writer* is pickled to the tasks.
    """

    def __init__(self, spark: SparkSession, writer: OffsetWriter, groups_per_task: int = GROUPS_PER_TASK) -> None:
        self._spark = spark
        self._writer = writer
        self._groups_per_task = groups_per_task

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order; all writes of a group are made by one task."""
        tasks = -(-len({write.group_id for write in writes}) // self._groups_per_task)
        if tasks <= 1:
            return self._writer.write(writes)
        frame = self._spark.createDataFrame(_to_table(writes)).repartition(tasks, "group_id")
        outcomes = frame.mapInArrow(_WriteTask(self._writer), _OUTCOMES_SQL).toArrow().sort_by("row")
        return [_to_outcome(write, found) for write, found in zip(writes, outcomes.to_pylist(), strict=True)]


class _WriteTask:
    def __init__(self, writer: OffsetWriter) -> None:
        self._writer = writer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        writes = [_to_write(row) for row in rows]
        found = [
            {
                "row": row["row"],
                "outcome": outcome.outcome.name,
                "previous_offset": outcome.previous_offset,
                "error": outcome.error,
            }
            for row, outcome in zip(rows, self._writer.write(writes), strict=True)
        ]
        yield pa.RecordBatch.from_pylist(found, schema=_OUTCOMES)


def _to_table(writes: Sequence[OffsetWrite]) -> pa.Table:
    names = _WRITES.names[1:]
    columns: dict[str, list[object]] = {name: [getattr(write, name) for write in writes] for name in names}
    columns["rule"] = [write.rule.name for write in writes]
    return pa.table({"row": list(range(len(writes))), **columns}, schema=_WRITES)


def _to_write(row: dict[str, object]) -> OffsetWrite:
    fields = {name: row[name] for name in _WRITES.names[1:]} | {"rule": Rule[str(row["rule"])]}
    return OffsetWrite(**fields)  # type: ignore[arg-type]


def _to_outcome(write: OffsetWrite, found: dict[str, object]) -> WriteOutcome:
    return WriteOutcome(
        write.group_id,
        write.topic,
        write.partition,
        Outcome[str(found["outcome"])],
        found["previous_offset"],  # type: ignore[arg-type]
        found["error"],  # type: ignore[arg-type]
    )
