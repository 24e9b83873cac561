"""Records of logs as rows, read with a consumer of our own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from offset_sync.ingest.checkpoint import Offsets
from offset_sync.kafka.log_reader import Chunk, OffsetRange, RangeReader, UnreadError
from offset_sync.model.values import RecordContent, TopicPartition

logger = logging.getLogger(__name__)
LAST_MS = (2**63 - 1) // 1000
"""The last time that fits; one beyond it counts as this one, and one before its negative as that."""
_MOST_ROWS, _MOST_BYTES = 5_000, 16 << 20
RowsOf = Callable[[Chunk], pa.RecordBatch]
OffsetRanges = Mapping[TopicPartition, OffsetRange]


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
            _fitting(record.timestamp_ms),
            more,
        )


def ranges_of(start: Offsets, end: Offsets) -> dict[TopicPartition, OffsetRange]:
    """Return what a micro-batch reads; a partition that is not in *start* is read from its beginning."""
    return {TopicPartition(*place): OffsetRange(start.get(place, 0), last) for place, last in end.items()}


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
