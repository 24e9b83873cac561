"""Micro-batches of the index that Spark cannot read, read with a consumer of our own.

Spark has no room for some times. It counts in microseconds, and Kafka takes any 64-bit number of milliseconds for a
time. One record beyond 9223372036854775 ms (nanoseconds where milliseconds were meant are enough) and Spark's source
fails with an ArithmeticException, each time that the micro-batch is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import pyarrow as pa

from offset_sync.config import Mirror
from offset_sync.ingest.kafka_source import HEADER_BYTES
from offset_sync.ingest.log_rows import LogRows, OffsetRanges, chunk_rows
from offset_sync.ingest.map_batches import MapBatches
from offset_sync.kafka.log_reader import UNREADABLE_HEADERS, Chunk
from offset_sync.model.values import RecordContent

_SYMPTOM = "ArithmeticException"
Made = TypeVar("Made")
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


class SecondReader(LogRows):
    """Reads what Spark's source fails on."""

    def map(
        self, by_spark: Callable[[], Made], function: MapBatches, schema: pa.Schema, ranges: RangesOfBatch
    ) -> Made | pa.Table:
        """Return what *by_spark* returns; where it fails for a time, what *function* makes of the same records.

        While such records keep coming Spark is not asked first: every micro-batch would be read twice.
        """
        if not self._is_beyond:
            try:
                return by_spark()
            except Exception as problem:
                if not is_for_a_time(problem):
                    raise
        return pa.Table.from_batches(list(function(self.rows(ranges()))), schema)


def is_for_a_time(problem: Exception) -> bool:
    """Return whether Spark failed for a number that it could not count with."""
    return _SYMPTOM in str(problem) or _SYMPTOM in type(problem).__name__


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
