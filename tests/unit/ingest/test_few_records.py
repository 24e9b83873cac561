"""Small micro-batches are read by a consumer of our own, and by Spark where that one cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pytest

from offset_sync.ingest import second_reader
from offset_sync.ingest.second_reader import SecondReader, offset_records
from offset_sync.kafka.range_reader import Chunk, OffsetRange
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition

PLACE = TopicPartition("__consumer_offsets", 7)
OFFSETS = pa.schema([("offset", pa.int64())])
BY_SPARK = pa.table({"offset": [-1]}, OFFSETS)


class Log:
    """A log of three records, of which the last one may be missing."""

    def __init__(self) -> None:
        self.is_whole, self.asked = True, 0

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], patience: float | None = None) -> Iterator[Chunk]:
        self.asked += 1
        yield [(PLACE, RecordContent(offset, 5, b"k", b"v", ())) for offset in (0, 1)]
        if not self.is_whole:
            raise ClusterError("dc1", "__consumer_offsets-7 cannot be read up to offset 3: no answer")
        yield [(PLACE, RecordContent(2, 5, b"k", b"v", ()))]


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def reader(log: Log) -> SecondReader:
    return SecondReader("dc1", log, offset_records, few=3)  # type: ignore[arg-type]


def offsets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch.select(OFFSETS.names) for batch in batches)


def read(reader: SecondReader, end: int = 3) -> list[int]:
    found = reader.map(lambda: BY_SPARK, offsets, OFFSETS, lambda: {PLACE: OffsetRange(0, end)})
    return list(found["offset"].to_pylist())


def test_few_records_are_not_left_to_spark_and_more_are(reader: SecondReader, log: Log) -> None:
    assert read(reader) == [0, 1, 2]
    assert read(reader, 4) == [-1]
    assert log.asked == 1


def test_where_not_all_could_be_read_spark_reads_all_and_the_next_minute_too(
    reader: SecondReader, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(second_reader.time, "monotonic", lambda: now[0])
    log.is_whole = False
    assert read(reader) == [-1]
    log.is_whole = True
    now[0] += 59
    assert read(reader) == [-1]
    assert log.asked == 1
    now[0] += 2
    assert read(reader) == [0, 1, 2]


def test_the_index_reads_by_spark_alone(log: Log) -> None:
    reader = SecondReader("dc1", log, offset_records)  # type: ignore[arg-type]
    assert read(reader) == [-1]
    assert read(reader, 0) == [-1]
    assert log.asked == 0


def test_what_decoding_fails_on_is_no_reason_to_ask_spark(reader: SecondReader) -> None:
    def fails(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ValueError("not decodable")

    with pytest.raises(ValueError, match="not decodable"):
        reader.map(lambda: BY_SPARK, fails, OFFSETS, lambda: {PLACE: OffsetRange(0, 3)})
