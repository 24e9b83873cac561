"""The records of a cluster's ``__consumer_offsets``: read by one function, in the driver or in tasks.

Spark only plans what is read. It asks each partition of a log by itself, twice over, and ``__consumer_offsets`` has
fifty; a consumer fetches from all of them at once. So the driver has few records long before a Spark job would have
them: that is most of the time between a commit and its translation. Of more records each task has a share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.ingest.decode_commits import DECODED_SCHEMA, decode_batches, unread_rows
from offset_sync.ingest.log_rows import LogRows, OffsetRanges, chunk_rows
from offset_sync.ingest.map_batches import to_sql
from offset_sync.kafka.log_reader import Chunk, OffsetRange, RangeReader, UnreadError
from offset_sync.model.values import TopicPartition

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


def offset_records(chunk: Chunk) -> pa.RecordBatch:
    """Return the columns that are decoded, of records of ``__consumer_offsets``."""
    return chunk_rows(
        chunk,
        {
            "key": pa.array([record.key for _, record in chunk], pa.binary()),
            "value": pa.array([record.value for _, record in chunk], pa.binary()),
        },
    )


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
