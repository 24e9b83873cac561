"""Micro-batches that Spark fails on for a time: the same rows from a consumer of our own, and a line about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace

import pyarrow as pa
import pytest

from offset_sync.config import Mirror
from offset_sync.ingest.commit_batch import LAST_MS
from offset_sync.ingest.kafka_source import MirroredRecords
from offset_sync.ingest.kept_runs import Cut
from offset_sync.ingest.unreadable_logs import SecondReader, is_of_source
from offset_sync.kafka.log_reader import UNREADABLE_HEADERS, Chunk, UnreadError
from offset_sync.model.values import OffsetRange, RecordContent, Stop, TopicPartition

ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 1)
TIMES = pa.schema([("offset", pa.int64()), ("timestamp", pa.timestamp("us", tz="UTC"))])
RANGES = {ORDERS: OffsetRange(0, 9)}


class Log:
    """What a cluster's logs hold; *problem* ends each answer."""

    problem: Exception | None = None

    def __init__(self, *chunks: Chunk) -> None:
        self.chunks, self.asked = chunks, list[Mapping[TopicPartition, OffsetRange]]()

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        self.asked.append(ranges)
        yield from self.chunks
        if self.problem is not None:
            raise self.problem


def record(offset: int, timestamp_ms: int = 5, *headers: tuple[str, bytes | None]) -> RecordContent:
    return RecordContent(offset, timestamp_ms, b"k", b"v", headers)


def again(log: Log) -> SecondReader:
    return SecondReader(SimpleNamespace(alias="dc1"), log, MirroredRecords(Mirror()))  # type: ignore[arg-type]


def times(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch.select(TIMES.names) for batch in batches)


def overflow() -> Cut:
    raise RuntimeError("Job aborted\nCaused by: java.lang.ArithmeticException: long overflow")


def read(reader: SecondReader, by_spark: object = overflow) -> list[tuple[int, int]]:
    found = reader.map(by_spark, times, TIMES, RANGES).rows  # type: ignore[arg-type]
    return list(zip(found["offset"].to_pylist(), found["timestamp"].cast(pa.int64()).to_pylist(), strict=True))


def test_what_spark_fails_on_for_a_time_is_read_again_with_times_that_fit() -> None:
    log = Log([(ORDERS, record(0, -1)), (ORDERS, record(1, 2**63 - 1))], [(ORDERS, record(2, -(2**63)))])
    assert read(again(log)) == [(0, -1000), (1, LAST_MS * 1000), (2, -LAST_MS * 1000)]
    assert log.asked == [RANGES]


def test_what_spark_can_read_is_spark_s_and_any_other_failure_stays_one() -> None:
    def refused() -> Cut:
        raise OSError("no brokers")

    log, table = Log(), pa.table({"offset": [7], "timestamp": pa.array([1], TIMES.field(1).type)})
    assert read(again(log), lambda: Cut(table)) == [(7, 1)]
    with pytest.raises(OSError, match="no brokers"):
        read(again(log), refused)
    assert log.asked == []
    assert not is_of_source(OSError("no brokers"))
    # What Spark would read with other logs is read without it.
    assert read(again(Log([(ORDERS, record(7))])), None) == [(7, 5000)]


def test_unreadable_headers_are_no_identity_and_a_place_is_read_where_the_mirror_stamps_it() -> None:
    records = [(ORDERS, record(0, 5, *each)) for each in (UNREADABLE_HEADERS, (("Place", b"x-0"), ("Place", b"o-0")))]
    rows = MirroredRecords(Mirror(place_header="Place"))(records).to_pylist()
    assert [(row["origin_header"], row["place_header"]) for row in rows] == [(b"", b""), (None, b"o-0")]
    assert "place_header" not in MirroredRecords(Mirror())(records).schema.names


KAFKA = "org.apache.kafka.common.KafkaException: Record batch is invalid"


def corrupt() -> Cut:
    raise RuntimeError(f"Job aborted\nCaused by: {KAFKA}")


def test_what_kafka_s_client_fails_on_is_read_up_to_where_it_can_be() -> None:
    log = Log([(PAY, record(0)), (ORDERS, record(0)), (ORDERS, record(1))])
    log.problem = UnreadError("dc1", {ORDERS: Stop(2, "bad CRC")})
    found = again(log).map(corrupt, times, TIMES, RANGES)
    assert found.rows["offset"].to_pylist() == [0, 1, 0]
    assert found.stopped == {ORDERS: Stop(2, "bad CRC")}


def test_a_cluster_of_which_nothing_comes_is_an_error() -> None:
    log = Log()
    log.problem = UnreadError("dc1", {ORDERS: Stop(0, "no answer")}, is_silent=True)
    with pytest.raises(UnreadError, match="orders-0 cannot be read from offset 0 on: no answer"):
        again(log).map(corrupt, times, TIMES, RANGES)
