"""Micro-batches that Spark cannot read, or reads slowly, read with a consumer of our own.

Spark asks each partition of a log by itself, twice over, and ``__consumer_offsets`` has fifty. A consumer fetches from
all of them at once, so where a micro-batch is small it has it long before a Spark job would: that is most of the time
between a commit and its translation.

And Spark cannot read records of a time that it has no room for. It counts time in microseconds, and Kafka takes any
64-bit number of milliseconds for a time. One record beyond 9223372036854775 ms (nanoseconds where milliseconds were
meant are enough) and Spark's source fails with an ArithmeticException, each time that the micro-batch is repeated.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

import pyarrow as pa

from offset_sync.config import Mirror
from offset_sync.ingest.checkpoint import Offsets
from offset_sync.ingest.kafka_source import HEADER_BYTES
from offset_sync.ingest.map_batches import MapBatches
from offset_sync.kafka.range_reader import Chunk, OffsetRange, RangeReader
from offset_sync.kafka.record_reader import UNREADABLE_HEADERS
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition

logger = logging.getLogger(__name__)
LAST_MS = (2**63 - 1) // 1000
"""The last time that fits; one beyond it counts as this one, and one before its negative as that."""
_SYMPTOM = "ArithmeticException"
_MOST_ROWS, _MOST_BYTES = 5_000, 16 << 20
_PATIENCE_S, _REST_S = 3.0, 60.0
RowsOf = Callable[[Chunk], pa.RecordBatch]
Made = TypeVar("Made")


OffsetRanges = Mapping[TopicPartition, OffsetRange]
RangesOfBatch = Callable[[], OffsetRanges]


class RecordsAgain(Protocol):
    """Who reads what Spark cannot."""

    def map(
        self, by_spark: Callable[[], Made], function: MapBatches, schema: pa.Schema, ranges: RangesOfBatch
    ) -> Made | pa.Table:
        """Return what *by_spark* returns, or the same made by *function* of the records in the same *ranges*."""

    def rows(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        """Yield the records of *ranges*, as Spark's source would."""


class OnlySpark:
    """Nobody reads again."""

    def map(
        self, by_spark: Callable[[], Made], function: MapBatches, schema: pa.Schema, ranges: RangesOfBatch
    ) -> Made | pa.Table:
        """Return what *by_spark* returns."""
        return by_spark()

    def rows(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        """Raise LookupError: nobody can."""
        raise LookupError(f"nobody reads {sorted(ranges)} again")


ONLY_SPARK = OnlySpark()


class SecondReader:
    """Reads for the query of the cluster *alias*; *to_rows* makes the columns that Spark's source would have."""

    def __init__(self, alias: str, reader: RangeReader, to_rows: RowsOf, few: int = 0) -> None:
        self._alias, self._reader, self._to_rows, self._few = alias, reader, to_rows, few
        self._is_first = False
        self._rests_until = float("-inf")

    def map(
        self, by_spark: Callable[[], Made], function: MapBatches, schema: pa.Schema, ranges: RangesOfBatch
    ) -> Made | pa.Table:
        """Return what *by_spark* returns; where it fails for a time, what *function* makes of the same records.

        While such records keep coming Spark is not asked first: every micro-batch would be read twice. Nor where there
        are *few*, unless the consumer has failed in the last minute. Spark then says why, or reads over what is gone.
        """
        if not self._is_first:
            if (found := self._few_of(function, schema, ranges())) is not None:
                return found
            try:
                return by_spark()
            except Exception as problem:
                if not is_for_a_time(problem):
                    raise
        return pa.Table.from_batches(list(function(self.rows(ranges()))), schema)

    def _few_of(self, function: MapBatches, schema: pa.Schema, ranges: OffsetRanges) -> pa.Table | None:
        if not self._few or sum(end - start for start, end in ranges.values()) > self._few:
            return None
        if time.monotonic() < self._rests_until:
            return None
        try:
            return pa.Table.from_batches(list(function(self.rows(ranges, _PATIENCE_S))), schema)
        except ClusterError as problem:
            logger.info("%s: Spark is asked", problem)
            self._rests_until = time.monotonic() + _REST_S
            return None

    def rows(self, ranges: OffsetRanges, patience: float | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the records of *ranges* as Spark's source would, some thousand at a time; times are cut to fit.

        Raises ClusterError where nothing comes for the *patience*, in seconds.
        """
        beyond: list[tuple[TopicPartition, RecordContent]] = []
        number = 0
        for chunk in _joined(self._reader.read(ranges, patience)):
            late = [each for each in chunk if abs(each[1].timestamp_ms) > LAST_MS]
            number += len(late)
            beyond = beyond or late[:1]
            yield self._to_rows(chunk)
        self._is_first = number > 0
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
            _fitting(record.timestamp_ms),
            more,
        )


def ranges_of(start: Offsets, end: Offsets) -> dict[TopicPartition, OffsetRange]:
    """Return what a micro-batch reads; a partition that is not in *start* is read from its beginning."""
    return {TopicPartition(*place): OffsetRange(start.get(place, 0), last) for place, last in end.items()}


def is_for_a_time(problem: Exception) -> bool:
    """Return whether Spark failed for a number that it could not count with."""
    return _SYMPTOM in str(problem) or _SYMPTOM in type(problem).__name__


def offset_records(chunk: Chunk) -> pa.RecordBatch:
    """Return records of ``__consumer_offsets`` with the columns of ``read_consumer_offsets``."""
    return chunk_rows(
        chunk,
        {
            "key": pa.array([record.key for _, record in chunk], pa.binary()),
            "value": pa.array([record.value for _, record in chunk], pa.binary()),
        },
    )


class MirroredRecords:
    """Makes the columns of ``read_mirrored_records``."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def __call__(self, chunk: Chunk) -> pa.RecordBatch:
        """Return the records of *chunk*."""
        columns = {
            column: pa.array([last_header(record, name) for _, record in chunk], pa.binary())
            for column, name in self._mirror.header_columns().items()
        }
        return chunk_rows(chunk, {"topic": pa.array([place.topic for place, _ in chunk], pa.string()), **columns})


def last_header(record: RecordContent, name: str) -> bytes | None:
    """Return the value of the last header of this *name*, cut; what nobody can read is no identity: it is empty."""
    if record.headers == UNREADABLE_HEADERS:
        return b""
    found = next((value for key, value in reversed(record.headers) if key == name), None)
    return None if found is None else found[:HEADER_BYTES]


def chunk_rows(chunk: Chunk, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return *columns* of the records of *chunk* with the place and time of each, cut to fit."""
    times = pa.array([_fitting(record.timestamp_ms) * 1000 for _, record in chunk], pa.int64())
    return pa.RecordBatch.from_pydict(
        {
            **columns,
            "partition": pa.array([place.partition for place, _ in chunk], pa.int32()),
            "offset": pa.array([record.offset for _, record in chunk], pa.int64()),
            "timestamp": times.cast(pa.timestamp("us", tz="UTC")),
        }
    )


def _fitting(milliseconds: int) -> int:
    return max(-LAST_MS, min(LAST_MS, milliseconds))


def _joined(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Join small chunks, each log in its order and one log after the other: so runs are found whole."""
    joined: Chunk = []
    size = 0
    for chunk in chunks:
        joined += chunk
        size += sum(len(record.key or b"") + len(record.value or b"") for _, record in chunk)
        if len(joined) >= _MOST_ROWS or size >= _MOST_BYTES:
            yield sorted(joined, key=_place)
            joined, size = [], 0
    if joined:
        yield sorted(joined, key=_place)


def _place(row: tuple[TopicPartition, RecordContent]) -> tuple[str, int, int]:
    return row[0].topic, row[0].partition, row[1].offset
