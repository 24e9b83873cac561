"""The commit log, ``__consumer_offsets``, from its bytes to a micro-batch of typed rows.

Spark only plans the offsets to read. Its source queries each partition of a log separately, twice, and this topic has
fifty; our own consumer fetches from all of them at once. So the driver has a small batch much sooner than a Spark job
would: that is most of the latency between a commit and its translation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.decode.consumer_offsets import RECORDS, decode_records
from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.kafka.log_reader import Chunk, RangeReader, UnreadError
from offset_sync.model.values import (
    ABSENT,
    CONSUMER_OFFSETS,
    GroupPartition,
    OffsetRange,
    RecordContent,
    Stop,
    TopicPartition,
)
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.index_rows import int64s
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
UNREAD = "unread"
_MOST_ROWS, _MOST_BYTES = 5_000, 16 << 20
_PATIENCE_S = 10.0
"""Short, because a shutdown waits for the micro-batch in flight."""
RowsOf = Callable[[Chunk], pa.RecordBatch]
LAST_MS = (2**63 - 1) // 1000
"""The latest timestamp that Spark can hold; later ones are clamped to it, earlier ones to its negative."""
DECODED_SCHEMA = pa.schema(
    [
        *RECORDS,
        ("log_partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
"""The columns of :data:`offset_sync.decode.consumer_offsets.RECORDS`, with the record's position in the log.

Records that say nothing about offsets or groups have no row. A row of kind
``unread`` marks a log that could not be read to the end of its range: ``log_partition`` says which, ``error`` why.
"""


def offset_records(chunk: Chunk) -> pa.RecordBatch:
    """Return records of ``__consumer_offsets`` as the columns that are decoded."""
    return chunk_rows(
        chunk,
        {
            "key": pa.array([record.key for _, record in chunk], pa.binary()),
            "value": pa.array([record.value for _, record in chunk], pa.binary()),
        },
    )


def chunk_rows(chunk: Chunk, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return *columns* with the partition, offset and clamped timestamp of each record of *chunk*."""
    times = pa.array([fitting(record.timestamp_ms) * 1000 for _, record in chunk], pa.int64())
    return pa.RecordBatch.from_pydict(
        {
            **columns,
            "partition": pa.array([place.partition for place, _ in chunk], pa.int32()),
            "offset": pa.array([record.offset for _, record in chunk], pa.int64()),
            "timestamp": times.cast(pa.timestamp("us", tz="UTC")),
        }
    )


def fitting(milliseconds: int) -> int:
    """Clamp a timestamp to what Spark can hold."""
    return max(-LAST_MS, min(LAST_MS, milliseconds))


def decode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode batches of ``key, value, partition, offset, timestamp``; never fails on a record's bytes."""
    for batch in batches:
        decoded = decode_records(batch.column("key"), batch.column("value"))
        places = (batch.column(name) for name in ("partition", "offset", "timestamp"))
        rows = pa.RecordBatch.from_arrays([*decoded.columns, *places], DECODED_SCHEMA.names).cast(DECODED_SCHEMA)
        yield rows.filter(pc.not_equal(rows.column("kind"), "ignored"))


def unread_rows(stops: Mapping[TopicPartition, Stop]) -> pa.RecordBatch:
    """Return a row for each log that could not be read up to the end of its range."""
    found = [(number, stop.at(f"{topic}-{number}")) for (topic, number), stop in sorted(stops.items())]
    rows = [{"kind": UNREAD, "log_partition": number, "error": why} for number, why in found]
    return pa.RecordBatch.from_pylist(rows, DECODED_SCHEMA)


class LogRows:
    """Reads logs of the cluster *alias*; *to_rows* makes the columns that Spark's source would have."""

    def __init__(self, alias: str, reader: RangeReader, to_rows: RowsOf) -> None:
        self.alias, self._reader, self._to_rows = alias, reader, to_rows
        self._is_beyond = False

    def rows(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        """Yield the records of *ranges* as Spark's source would, some thousand at a time; timestamps are clamped.

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
            self.alias,
            *place,
            record.offset,
            record.timestamp_ms,
            fitting(record.timestamp_ms),
            more,
        )


def _joined(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Join small chunks and sort them by log and offset, so that runs are not split."""
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


class CommitReader(LogRows):
    """Reads ``__consumer_offsets`` of the cluster *alias*; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        super().__init__(alias, RangeReader(alias, options, _PATIENCE_S), offset_records)
        self.options = dict(options)

    def read(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        """Yield the decoded records of *ranges*, rows of DECODED_SCHEMA, each log in its order.

        A log that could not be read to the end of its range yields a row of kind ``unread`` instead of an error.
        """
        try:
            yield from decode_batches(self.rows(ranges))
        except UnreadError as problem:
            yield unread_rows(problem.stops)

    def table(self, ranges: OffsetRanges) -> pa.Table:
        """Return the same as a table."""
        return pa.Table.from_batches(list(self.read(ranges)), DECODED_SCHEMA)


MADE, NOT_BEFORE = "made_at", "not_before"
LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, the latest that every reader of the tables supports."""


class Looked(NamedTuple):
    """The result of a check *at* a time that is stamped on every row of the micro-batch.

    *again* are ranges to re-read, which replace all that was read of these logs. *begun* are those of them that have a
    new incarnation, *whole* those of which nothing is left to re-read then. *is_certain*: commits acknowledged before
    and not read yet will be read.
    """

    at: datetime
    again: Mapping[TopicPartition, OffsetRange] = {}
    begun: frozenset[TopicPartition] = frozenset()
    whole: frozenset[TopicPartition] = frozenset()
    is_certain: bool = True


@dataclass(frozen=True)
class CommitBatch:
    """A decoded micro-batch: *records* of all kinds, and of them the *commits* in log order.

    *looked* is the check of their logs.
    """

    batch_id: int
    looked: Looked
    records: pa.Table
    commits: pa.Table

    @property
    def is_polled(self) -> bool:
        """Whether the commits were polled from the coordinators."""
        return NOT_BEFORE in self.commits.column_names

    @cached_property
    def keys(self) -> Sequence[GroupPartition]:
        """The key of each commit."""
        columns = (self.commits.column(name).to_pylist() for name in GroupPartition._fields)
        return [GroupPartition(*key) for key in zip(*columns, strict=True)]

    @property
    def timestamp_ms(self) -> Int64s:
        """When the coordinator wrote each commit, by the cluster's clock.

        The record's timestamp, not that of the commit in it, to which a client of protocol version 1 sends any value.
        """
        return int64s(self.commits.column("timestamp")) // 1000

    def with_made(self, made_ms: Int64s) -> CommitBatch:
        """Return the batch with when each commit was made by our clock."""
        return replace(self, commits=self.commits.append_column(MADE, to_time(pa.array(made_ms))))

    @property
    def commit_records(self) -> CommitRecords:
        """The commits in the state's format, without their rows of keys."""
        commits = self.commits
        is_dated = MADE in commits.column_names
        return CommitRecords(
            key=np.empty(0, np.intp),
            offset=_numbers(commits, "committed_offset"),
            is_tombstone=commits.column("is_tombstone").to_numpy(),
            committed_at_ms=_numbers(commits, NOT_BEFORE) // 1000 if self.is_polled else committed_at_ms(commits),
            made_ms=_numbers(commits, MADE) // 1000 if is_dated else self.timestamp_ms,
            log_partition=_numbers(commits, "log_partition"),
            log_offset=_numbers(commits, "log_offset"),
            topic_id=commits.column("topic_id").to_pylist(),
            leader_epoch=_numbers(commits, "leader_epoch"),
        )

    def with_own(self, is_own: NDArray[np.bool_]) -> CommitBatch:
        """Return the batch with whether each commit is one of ours, as rows of the tables have it."""
        return replace(self, commits=self.commits.append_column("is_own", pa.array(is_own)))

    def of_logs(self, logs: Collection[TopicPartition], *, others: bool = False) -> CommitBatch:
        """Return the records of *logs*, or of all *others*."""
        is_record, is_commit = is_of_logs(self.records, logs), is_of_logs(self.commits, logs)
        if others:
            is_record, is_commit = pc.invert(is_record), pc.invert(is_commit)
        return replace(self, records=self.records.filter(is_record), commits=self.commits.filter(is_commit))

    def of_kind(self, kind: str) -> pa.Table:
        """Return the records of one kind."""
        return self.records.filter(pc.equal(self.records.column("kind"), kind))


def changed_logs(before: CommitRecords, now: CommitRecords) -> frozenset[TopicPartition]:
    """Return the logs of which a micro-batch has read other commits *before* than *now*; keys in rows of one state."""
    rows = [
        {
            *zip(
                *(each.tolist() for each in (read.log_partition, read.log_offset, read.key, read.offset)),
                *(each.tolist() for each in (read.is_tombstone, read.committed_at_ms, read.leader_epoch)),
                strict=True,
            )
        }
        for read in (before, now)
    ]
    return frozenset(TopicPartition(CONSUMER_OFFSETS, row[0]) for row in rows[0] ^ rows[1])


def is_of_logs(records: pa.Table, logs: Collection[TopicPartition]) -> pa.ChunkedArray:
    """Return which decoded *records* are from *logs*."""
    return pc.is_in(records.column("log_partition"), pa.array([each.partition for each in logs], pa.int32()))


def to_batch(decoded: pa.Table, batch_id: int, looked: Looked) -> CommitBatch:
    """Build the micro-batch from decoded records."""
    at = decoded.schema.get_field_index("timestamp")
    records = decoded.set_column(at, DECODED_SCHEMA.field(at), _known_time(decoded.column(at)))
    commits = records.filter(pc.equal(records.column("kind"), "commit"))
    commits = commits.sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    return CommitBatch(batch_id, looked, records, commits)


def _numbers(rows: pa.Table, name: str) -> Int64s:
    """Return a column as int64, ABSENT where it is null (a tombstone has no offset)."""
    return int64s(rows.column(name), ABSENT)


def committed_at_ms(commits: pa.Table) -> Int64s:
    """Return the coordinator's commit time; the time its record was written where there is none, as in a tombstone.

    A client may send any number; one that is no valid date must not stop the stream.
    """
    written_ms = int64s(commits.column("timestamp")) // 1000
    committed_ms = _numbers(commits, "committed_at_ms")
    times: Int64s = np.where((committed_ms < 0) | (committed_ms > LATEST_MS), written_ms, committed_ms)
    return times


def _known_time(times: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.min_element_wise(times.cast(pa.int64()), LATEST_MS * 1000, skip_nulls=False).cast(times.type)


def to_time(milliseconds: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return times in *milliseconds* since the epoch as the tables have them."""
    return milliseconds.cast(pa.timestamp("ms", tz="UTC")).cast(pa.timestamp("us", tz="UTC"))
