"""Records of logs as rows, read with a consumer of our own: commits always, the index's where Spark cannot.

Of commits Spark only plans what is read. It asks each partition of a log by itself, twice over, and
``__consumer_offsets`` has fifty; a consumer fetches from all of them at once. So the driver has few records long before
a Spark job would have them: that is most of the time between a commit and its translation. Of more records each task
has a share.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.ingest.commit_batch import (
    DECODED_SCHEMA,
    LAST_MS,
    decode_batches,
    fitting,
    offset_records,
    unread_rows,
)
from offset_sync.ingest.map_batches import are_few, task_share, to_sql
from offset_sync.kafka.log_reader import Chunk, RangeReader, UnreadError
from offset_sync.model.values import OffsetRange, RecordContent, TopicPartition

logger = logging.getLogger(__name__)
_MOST_ROWS, _MOST_BYTES = 5_000, 16 << 20
RowsOf = Callable[[Chunk], pa.RecordBatch]


class LogRows:
    """Reads logs of the cluster *alias*; *to_rows* makes the columns that Spark's source would have."""

    def __init__(self, alias: str, reader: RangeReader, to_rows: RowsOf) -> None:
        self._alias, self._reader, self._to_rows = alias, reader, to_rows
        self._is_beyond = False

    def rows(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        """Yield the records of *ranges* as Spark's source would, some thousand at a time; times are cut to fit.

        Raises UnreadError, after all that could be read, where logs could not be read up to the end of their ranges.
        """
        beyond: list[tuple[TopicPartition, RecordContent]] = []
        number = 0
        for chunk in _joined(self._reader.read(ranges)):
            late = [each for each in chunk if abs(each[1].timestamp_ms) > LAST_MS]
            number += len(late)
            beyond = beyond or late[:1]
            yield self._to_rows(chunk)
        self._is_beyond = number > 0
        if beyond:
            self._tell(*beyond[0], number - 1)

    def _tell(self, place: TopicPartition, record: RecordContent, others: int) -> None:
        more = f", and so have {others} more records of this micro-batch" if others else ""
        logger.warning(
            "clusters.%s: %s-%d offset %d has the time %d ms, which Spark cannot hold: it counts as %d%s",
            self._alias,
            *place,
            record.offset,
            record.timestamp_ms,
            fitting(record.timestamp_ms),
            more,
        )


def _joined(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Join small chunks, each log in its order and one log after the other: so runs are found whole."""
    joined: Chunk = []
    size = 0
    try:
        for chunk in chunks:
            joined += chunk
            size += sum(len(record.key or b"") + len(record.value or b"") for _, record in chunk)
            if len(joined) >= _MOST_ROWS or size >= _MOST_BYTES:
                yield sorted(joined, key=_place)
                joined, size = [], 0
    except UnreadError:
        yield sorted(joined, key=_place)
        raise
    if joined:
        yield sorted(joined, key=_place)


def _place(row: tuple[TopicPartition, RecordContent]) -> tuple[str, int, int]:
    return row[0].topic, row[0].partition, row[1].offset


_PATIENCE_S = 10.0
"""A stop waits for the micro-batch in hand, and nobody waits for a stop for half a minute."""


class CommitRecords(LogRows):
    """Reads the log of commits of the cluster *alias*; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        super().__init__(alias, RangeReader(alias, options, _PATIENCE_S), offset_records)
        self._options = options

    def read(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        """Yield the decoded records of *ranges*, rows of DECODED_SCHEMA, each log in its order.

        A log that could not be read up to the end of its range has a row that says so, and no error is raised for it.
        """
        try:
            yield from decode_batches(self.rows(ranges))
        except UnreadError as problem:
            yield unread_rows(problem.reasons)

    def table(self, ranges: OffsetRanges, records: DataFrame | None = None, clusters: int = 1) -> pa.Table:
        """Return what :meth:`read` yields; of many *records*, as Spark plans them, each task reads some.

        They have the share of the slots that each of *clusters* has. Without *records* the driver reads all.
        """
        if records is None or are_few(sum(max(0, each.end - each.start) for each in ranges.values())):
            return pa.Table.from_batches(list(self.read(ranges)), DECODED_SCHEMA)
        return self.read_by_tasks(records.sparkSession, ranges, task_share(records, clusters))

    def read_by_tasks(self, spark: SparkSession, ranges: OffsetRanges, tasks: int) -> pa.Table:
        """Return what :meth:`read` yields, read by so many *tasks* of Spark."""
        found = shares(ranges, tasks)
        numbers = spark.range(0, len(found), 1, len(found))
        read = _ReadShares(self._alias, dict(self._options), found)
        return numbers.mapInArrow(read, to_sql(DECODED_SCHEMA)).toArrow().cast(DECODED_SCHEMA)


@dataclass(frozen=True)
class _ReadShares:
    """Reads the shares whose numbers a task is given; pickled to the executors."""

    alias: str
    options: Mapping[str, str] = field(repr=False)
    shares: Sequence[OffsetRanges]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from CommitRecords(self.alias, self.options).read(self.shares[number])


def shares(ranges: OffsetRanges, tasks: int) -> list[OffsetRanges]:
    """Return which *ranges* each of so many *tasks* reads: each log by one, and the longest are shared out first."""
    read = [(place, each) for place, each in ranges.items() if each.end > each.start]
    found: list[dict[TopicPartition, OffsetRange]] = [{} for _ in range(max(1, min(tasks, len(read))))]
    sizes = [0] * len(found)
    for place, each in sorted(read, key=lambda one: one[1].start - one[1].end):
        least = sizes.index(min(sizes))
        found[least][place] = each
        sizes[least] += each.end - each.start
    return list(found)
