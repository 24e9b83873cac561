"""Stretches of real logs, whole: every record of them once, or an error, and never an end that was not reached."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition as KafkaPartition

from broker.crafted_logs import create_topics, write_log
from broker.raw_records import RawRecord, write_raw
from broker.segments import change_record
from offset_sync.kafka.log_reader import RangeReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, RecordContent, TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of
from oracles.translation import LogRecord

pytestmark = [pytest.mark.broker, pytest.mark.versions]

SHORT_S = 3.0


@pytest.fixture
def cluster(clusters: dict[str, EmbeddedCluster]) -> EmbeddedCluster:
    return clusters["dc1"]


def read(cluster: EmbeddedCluster, ranges: dict[TopicPartition, OffsetRange]) -> dict[TopicPartition, list[int]]:
    reader = RangeReader("dc1", {"bootstrap.servers": cluster.bootstrap_servers}, SHORT_S)
    found: dict[TopicPartition, list[int]] = {place: [] for place in ranges}
    for chunk in reader.read(ranges):
        for place, record in chunk:
            found[place].append(record.offset)
    return found


def natives(*offsets: int, end: int) -> list[LogRecord | None]:
    """A log with records at these offsets only; where one alone is missing there is a marker."""
    return [LogRecord(offset, "dc1", offset) if offset in offsets else None for offset in range(end)]


def test_every_record_of_the_ranges_is_read_once_whatever_is_between(cluster: EmbeddedCluster, topic_name: str) -> None:
    create_topics(cluster, {topic_name: 4})
    places = [TopicPartition(topic_name, number) for number in range(4)]
    write_log(cluster, {(topic_name, 0): natives(0, 1, 3, 7, 8, end=10)})  # a marker ends the log
    write_log(cluster, {(topic_name, 1): natives(*range(900), end=900)})
    write_log(cluster, {(topic_name, 2): natives(0, 1, end=6)})  # an aborted transaction ends it
    ranges = [OffsetRange(1, 10), OffsetRange(100, 850), OffsetRange(1, 6), OffsetRange(0, 0)]
    assert read(cluster, dict(zip(places, ranges, strict=True))) == {
        places[0]: [1, 3, 7, 8],
        places[1]: list(range(100, 850)),
        places[2]: [1],
        places[3]: [],
    }


def test_what_retention_has_deleted_is_read_over(cluster: EmbeddedCluster, topic_name: str) -> None:
    create_topics(cluster, {topic_name: 2})
    some, none = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    write_log(cluster, {place: natives(*range(20), end=20) for place in (some, none)})
    admin = admin_of(cluster)
    asked = [KafkaPartition(topic_name, 0, 5), KafkaPartition(topic_name, 1, 20)]
    for future in admin.delete_records(asked).values():
        future.result(120)
    ranges = {some: OffsetRange(2, 8), none: OffsetRange(2, 8)}
    assert read(cluster, ranges) == {some: [5, 6, 7], none: []}


def test_a_log_that_ends_before_its_range_is_an_error_that_names_it(cluster: EmbeddedCluster, topic_name: str) -> None:
    create_topics(cluster, {topic_name: 1})
    place = TopicPartition(topic_name, 0)
    write_log(cluster, {place: natives(*range(5), end=5)})
    with pytest.raises(ClusterError, match=rf"clusters.dc1: {topic_name}-0 .* ends at offset 5"):
        read(cluster, {place: OffsetRange(0, 9)})


def test_a_silent_cluster_is_an_error() -> None:
    reader = RangeReader("dc1", {"bootstrap.servers": "127.0.0.1:1"}, 1.0)
    with pytest.raises(ClusterError, match="orders-0 cannot be read from offset 0 on: no answer"):
        list(reader.read({TopicPartition("orders", 0): OffsetRange(0, 9)}))


def test_a_record_comes_as_it_was_written(cluster: EmbeddedCluster, topic_name: str) -> None:
    create_topics(cluster, {topic_name: 1})
    headers = [("a", b"1"), ("a", None), ("", b"\xff")]
    write_raw(cluster, (topic_name, 0), [RawRecord(-1, headers, b"key", None)])
    reader = RangeReader("dc1", {"bootstrap.servers": cluster.bootstrap_servers})
    ((found,),) = reader.read({TopicPartition(topic_name, 0): OffsetRange(0, 1)})
    assert found[1] == RecordContent(0, found[1].timestamp_ms, b"key", None, tuple(headers))


def test_a_record_that_the_disk_has_changed_is_an_error_and_none_comes_twice(
    cluster: EmbeddedCluster, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    for number in range(5):  # a batch each
        write_raw(cluster, (topic_name, 0), [RawRecord(-1, [], b"key", b"commit-%d" % number)])
    change_record(cluster, topic_name, 0, b"commit-2", b"commit-9")
    chunks = RangeReader("dc1", {"bootstrap.servers": cluster.bootstrap_servers}, SHORT_S).read(
        {TopicPartition(topic_name, 0): OffsetRange(0, 5)}
    )
    found = [record.offset for _, record in next(chunks)]
    with pytest.raises(ClusterError, match=f"{topic_name}-0 cannot be read from offset"):
        found += [record.offset for chunk in chunks for _, record in chunk]
    assert found == [0, 1]
