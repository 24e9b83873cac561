"""Micro-batches that Spark fails on: the same rows from a consumer of our own; see also broker/test_odd_records.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.config import Mirror
from offset_sync.ingest.commit_batch import LAST_MS
from offset_sync.ingest.kafka_source import MirroredRecords
from offset_sync.ingest.kept_runs import Cut
from offset_sync.ingest.unreadable_logs import SecondReader
from offset_sync.kafka.log_reader import Chunk, UnreadError
from offset_sync.model.values import OffsetRange, RecordContent, Stop, TopicPartition

ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 1)
TIMES = pa.schema([("offset", pa.int64()), ("timestamp", pa.timestamp("us", tz="UTC"))])
RANGES = {ORDERS: OffsetRange(0, 9)}


class Log:
    """What a cluster's logs hold; *problem* ends each answer."""

    def __init__(self, *records: tuple[TopicPartition, RecordContent], problem: Exception | None = None) -> None:
        self.records, self.problem, self.asked = records, problem, list[Mapping[TopicPartition, OffsetRange]]()

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        self.asked.append(ranges)
        for each in self.records:
            yield [each]
        if self.problem is not None:
            raise self.problem


def record(offset: int, timestamp_ms: int = 5) -> RecordContent:
    return RecordContent(offset, timestamp_ms, b"k", b"v")


def times(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch.select(TIMES.names) for batch in batches)


def failing(said: str) -> Callable[[], Cut]:
    """Return what fails as Spark does."""

    def by_spark() -> Cut:
        raise RuntimeError(f"Job aborted\nCaused by: {said}")

    return by_spark


def read(log: Log, by_spark: Callable[[], Cut] | None) -> tuple[list[tuple[int, int]], Mapping[TopicPartition, Stop]]:
    """Return the offsets and times of what is read, and where it stopped."""
    cluster: Any = SimpleNamespace(alias="dc1")
    found = SecondReader(cluster, log, MirroredRecords(Mirror())).map(by_spark, times, TIMES, RANGES)
    stamps = found.rows["timestamp"].cast(pa.int64()).to_pylist()
    return list(zip(found.rows["offset"].to_pylist(), stamps, strict=True)), found.stopped


def test_what_spark_fails_on_is_read_again_with_times_that_fit_up_to_where_it_can_be() -> None:
    log = Log((ORDERS, record(0, -1)), (ORDERS, record(1, 2**63 - 1)), (ORDERS, record(2, -(2**63))))
    overflow = failing("java.lang.ArithmeticException: long overflow")
    assert read(log, overflow) == ([(0, -1000), (1, LAST_MS * 1000), (2, -LAST_MS * 1000)], {})
    assert log.asked == [RANGES]
    corrupt = failing("org.apache.kafka.common.KafkaException: Record batch is invalid")
    stopped = UnreadError("dc1", {ORDERS: Stop(2, "bad CRC")})
    found, stops = read(Log((PAY, record(0)), (ORDERS, record(0)), (ORDERS, record(1)), problem=stopped), corrupt)
    assert ([offset for offset, _ in found], stops) == ([0, 1, 0], {ORDERS: Stop(2, "bad CRC")})
    silent = UnreadError("dc1", {ORDERS: Stop(0, "no answer")}, is_silent=True)
    with pytest.raises(UnreadError, match="orders-0 cannot be read from offset 0 on: no answer"):
        read(Log(problem=silent), corrupt)
    # What Spark would read with other logs is read without it, and any other failure of Spark stays one.
    assert read(Log((ORDERS, record(7))), None)[0] == [(7, 5000)]
    with pytest.raises(RuntimeError, match="no brokers"):
        read(Log(), failing("no brokers"))
