"""Records of real logs, single ones and whole stretches: as they were written, each once, or an error."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as KafkaPartition

from broker.crafted_logs import create_topics, write_log
from broker.raw_records import RawRecord, write_raw
from broker.segments import change_record
from offset_sync.kafka.log_reader import RangeReader, RecordReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options
from oracles.translation import LogRecord

pytestmark = pytest.mark.versions
SHORT_S = 3.0
LONG_S = 100.0
"""What is to end sooner is given so long, and has to end within half of it: how busy the machine is does not show."""


@pytest.fixture
def reader(cluster: EmbeddedCluster) -> RecordReader:
    return RecordReader("dc2", {"bootstrap.servers": cluster.bootstrap_servers})


def offsets_at(reader: RecordReader, topic: str, *asked: int) -> list[int | None]:
    """The offsets of the records found at each offset of partition 0; None where there is none."""
    found = []
    for offset in asked:
        answer = reader.first_at({TopicPartition(topic, 0): offset}, LONG_S)
        assert not isinstance(answer, ClusterError), answer
        found.append(answer[TopicPartition(topic, 0)].offset if answer else None)
    return found


def ranges_at(cluster: EmbeddedCluster, ranges: dict[TopicPartition, OffsetRange]) -> dict[TopicPartition, list[int]]:
    found: dict[TopicPartition, list[int]] = {place: [] for place in ranges}
    for chunk in RangeReader("dc2", {"bootstrap.servers": cluster.bootstrap_servers}, SHORT_S).read(ranges):
        for place, record in chunk:
            found[place].append(record.offset)
    return found


def natives(*offsets: int, end: int) -> list[LogRecord | None]:
    """A log with records at these offsets only; where one alone is missing there is a marker."""
    return [LogRecord(offset, "dc2", offset) if offset in offsets else None for offset in range(end)]


def test_markers_and_aborted_records_are_passed_over_and_at_the_end_there_is_nothing(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 4})
    places = [TopicPartition(topic_name, number) for number in range(4)]
    # A commit's marker at 2; two aborted records and their marker from 5 on; a marker at the end, 10.
    write_log(cluster, {(topic_name, 0): natives(0, 1, 3, 4, 8, 9, end=11)})
    write_log(cluster, {(topic_name, 1): natives(*range(900), end=900)})
    write_log(cluster, {(topic_name, 2): natives(0, 1, end=6)})  # an aborted transaction ends it
    began = time.monotonic()
    asked = {0: 0, 1: 1, 2: 3, 4: 4, 5: 8, 7: 8, 9: 9, 10: None, 11: None, 12: None, 500: None}
    assert offsets_at(reader, topic_name, *asked) == list(asked.values())
    assert time.monotonic() - began < LONG_S / 2, "an end is told at once, and not by waiting for what never comes"
    ranges = [OffsetRange(1, 11), OffsetRange(100, 850), OffsetRange(1, 6), OffsetRange(0, 0)]
    found = ranges_at(cluster, dict(zip(places, ranges, strict=True)))
    assert [found[place] for place in places] == [[1, 3, 4, 8, 9], list(range(100, 850)), [1], []]
    with pytest.raises(ClusterError, match=rf"clusters.dc2: {topic_name}-0 .* ends at offset 11"):
        ranges_at(cluster, {places[0]: OffsetRange(0, 20)})


def test_what_retention_has_deleted_is_read_over_and_an_open_transaction_not_read(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 2})
    some, none = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    write_log(cluster, {place: natives(*range(20), end=20) for place in (some, none)})
    admin = admin_of(cluster)
    for future in admin.delete_records([KafkaPartition(*some, 5), KafkaPartition(*none, 20)]).values():
        future.result(120)
    producer = Producer(client_options(cluster.bootstrap_servers, transactional_id=topic_name))
    producer.init_transactions(120)
    producer.begin_transaction()
    producer.produce(topic_name, b"open", partition=0)
    assert producer.flush(120) == 0
    assert offsets_at(reader, topic_name, 0, 4, 5, 19, 20) == [5, 5, 5, 19, None]
    assert reader.first_at({none: 0}, LONG_S) == {}
    assert ranges_at(cluster, {some: OffsetRange(2, 8), none: OffsetRange(2, 8)}) == {some: [5, 6, 7], none: []}
    producer.commit_transaction(120)
    assert offsets_at(reader, topic_name, 20) == [20]


def test_many_partitions_are_read_quickly_and_those_that_are_not_there_are_left_out_and_not_made_up(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 100})
    write_log(cluster, {(topic_name, number): natives(*range(30), end=30) for number in range(100)})
    began = time.monotonic()
    wanted = {TopicPartition(topic_name, number): number % 33 for number in range(100)}
    found = reader.first_at(wanted, LONG_S)
    assert not isinstance(found, ClusterError)
    assert {place: record.offset for place, record in found.items()} == {
        place: offset for place, offset in wanted.items() if offset < 30
    }
    missing = {TopicPartition(f"no-{topic_name}", 0): 0, TopicPartition(topic_name, 107): 0}
    # librdkafka says nothing of the others, however long it is asked.
    found = reader.first_at(missing | {TopicPartition(topic_name, 0): 0}, deadline=2)
    assert not isinstance(found, ClusterError)
    assert [*found] == [TopicPartition(topic_name, 0)]
    assert time.monotonic() - began < LONG_S / 2
    assert f"no-{topic_name}" not in admin_of(cluster).list_topics(timeout=120).topics


def test_a_record_that_the_disk_has_changed_is_an_error_and_none_comes_twice(
    cluster: EmbeddedCluster, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    for number in range(5):  # a batch each
        write_raw(cluster, (topic_name, 0), [RawRecord(-1, [], b"key", b"commit-%d" % number)])
    change_record(cluster, topic_name, 0, b"commit-2", b"commit-9")
    chunks = RangeReader("dc2", {"bootstrap.servers": cluster.bootstrap_servers}, SHORT_S).read(
        {TopicPartition(topic_name, 0): OffsetRange(0, 5)}
    )
    found = [record.offset for _, record in next(chunks)]
    with pytest.raises(ClusterError, match=f"{topic_name}-0 cannot be read from offset"):
        found += [record.offset for chunk in chunks for _, record in chunk]
    assert found == [0, 1]
