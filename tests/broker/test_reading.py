"""Single records read from a real cluster, where a group would read next."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from broker.crafted_logs import create_topics, wait_for_ends, write_log
from offset_sync.kafka.log_reader import RecordReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options
from oracles.translation import LogRecord

pytestmark = [pytest.mark.broker, pytest.mark.versions]

UNREACHABLE = "127.0.0.1:1"
LONG_S = 100.0
"""What is to end sooner is given so long, and has to end within half of it: how busy the machine is does not show."""


@pytest.fixture
def cluster(clusters: dict[str, EmbeddedCluster]) -> EmbeddedCluster:
    return clusters["dc1"]


@pytest.fixture
def reader(cluster: EmbeddedCluster) -> RecordReader:
    return RecordReader("dc1", {"bootstrap.servers": cluster.bootstrap_servers})


def offsets_at(reader: RecordReader, topic: str, *asked: int) -> list[int | None]:
    """The offsets of the records found at each offset of partition 0; None where there is none."""
    found = []
    for offset in asked:
        answer = reader.first_at({TopicPartition(topic, 0): offset}, LONG_S)
        assert not isinstance(answer, ClusterError), answer
        found.append(answer[TopicPartition(topic, 0)].offset if answer else None)
    return found


def delete_below(admin: AdminClient, topic: str, offset: int) -> int:
    """Delete as retention does; return where the log begins then."""
    (deleted,) = admin.delete_records([KafkaPartition(topic, 0, offset)]).values()
    low_watermark: int = deleted.result(120).low_watermark
    return low_watermark


def natives(*offsets: int, end: int) -> list[LogRecord | None]:
    """A log with records at these offsets only; where one alone is missing there is a marker."""
    return [LogRecord(offset, "dc1", offset) if offset in offsets else None for offset in range(end)]


def test_markers_and_aborted_records_are_passed_over_and_at_the_end_there_is_nothing(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    # A commit's marker at 2; two aborted records and their marker from 5 on; a marker at the end, 10.
    write_log(cluster, {(topic_name, 0): natives(0, 1, 3, 4, 8, 9, end=11)})
    began = time.monotonic()
    asked = {0: 0, 1: 1, 2: 3, 4: 4, 5: 8, 7: 8, 9: 9, 10: None, 11: None, 12: None, 500: None}
    assert offsets_at(reader, topic_name, *asked) == list(asked.values())
    assert time.monotonic() - began < LONG_S / 2, "an end is told at once, and not by waiting for what never comes"


def test_a_record_comes_whole(cluster: EmbeddedCluster, reader: RecordReader, topic_name: str) -> None:
    create_topics(cluster, {topic_name: 2}, {"retention.ms": "-1"})  # by its time a record of 1970 could go at once
    producer = Producer(client_options(cluster.bootstrap_servers))
    headers = [("IDC", b"dc2"), ("Offset", b"7"), ("Offset", None), ("", b"\xff")]
    large = b"x" * 900_000
    producer.produce(topic_name, large, b"\x00key", partition=0, timestamp=1_795_000_000_123, headers=headers)
    producer.produce(topic_name, None, None, partition=1, timestamp=5)
    assert producer.flush(120) == 0
    assert reader.first_at({TopicPartition(topic_name, 0): 0, TopicPartition(topic_name, 1): 0}) == {
        TopicPartition(topic_name, 0): RecordContent(0, 1_795_000_000_123, b"\x00key", large, tuple(headers)),
        TopicPartition(topic_name, 1): RecordContent(0, 5, None, None, ()),
    }


def test_below_the_log_start_the_first_record_left_is_read(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    write_log(cluster, {(topic_name, 0): natives(*range(6), end=6)})
    admin = admin_of(cluster)
    assert delete_below(admin, topic_name, 4) == 4
    assert offsets_at(reader, topic_name, 0, 3, 4, 5, 6) == [4, 4, 4, 5, None]
    assert delete_below(admin, topic_name, 6) == 6
    assert offsets_at(reader, topic_name, 0, 6) == [None, None]


def test_records_of_an_open_transaction_are_not_read(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    write_log(cluster, {(topic_name, 0): natives(0, end=1)})
    producer = Producer(client_options(cluster.bootstrap_servers, transactional_id=topic_name))
    producer.init_transactions(120)
    producer.begin_transaction()
    producer.produce(topic_name, b"open", partition=0)
    assert producer.flush(120) == 0
    wait_for_ends(cluster, {(topic_name, 0): 2})
    assert offsets_at(reader, topic_name, 0, 1) == [0, None]
    producer.commit_transaction(120)
    assert offsets_at(reader, topic_name, 1) == [1]


def test_a_topic_or_partition_that_is_not_there_is_left_out_and_not_made_up(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    write_log(cluster, {(topic_name, 0): natives(0, end=1)})
    began = time.monotonic()
    places = {
        TopicPartition(f"no-{topic_name}", 0): 0,
        TopicPartition(topic_name, 7): 0,
        TopicPartition(topic_name, 0): 0,
    }
    found = reader.first_at(places, deadline=2)
    assert not isinstance(found, ClusterError)
    assert list(found) == [TopicPartition(topic_name, 0)]
    assert time.monotonic() - began < LONG_S / 2  # librdkafka says nothing of the others, however long it is asked
    assert f"no-{topic_name}" not in admin_of(cluster).list_topics(timeout=120).topics


def test_two_hundred_partitions_are_read_quickly(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 200})
    write_log(cluster, {(topic_name, number): natives(*range(30), end=30) for number in range(200)})
    began = time.monotonic()
    found = reader.first_at({TopicPartition(topic_name, number): number % 33 for number in range(200)}, LONG_S)
    assert time.monotonic() - began < LONG_S / 2
    assert not isinstance(found, ClusterError)
    assert {place.partition: record.offset for place, record in found.items()} == {
        number: number % 33 for number in range(200) if number % 33 < 30
    }


def test_a_cluster_that_does_not_answer_is_left_within_the_deadline() -> None:
    began = time.monotonic()
    found = RecordReader("dc9", {"bootstrap.servers": UNREACHABLE}).first_at({TopicPartition("t", 0): 0}, deadline=1.5)
    assert 1 < time.monotonic() - began < LONG_S / 2
    assert found == {}


def test_a_frozen_broker_is_left_within_the_deadline(
    cluster: EmbeddedCluster, reader: RecordReader, topic_name: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    write_log(cluster, {(topic_name, 0): natives(0, end=1)})
    cluster.pause()
    try:
        began = time.monotonic()
        assert reader.first_at({TopicPartition(topic_name, 0): 0}, deadline=1.5) == {}
        assert time.monotonic() - began < LONG_S / 2
    finally:
        cluster.resume()
    assert offsets_at(reader, topic_name, 0) == [0]


def test_options_that_the_client_refuses_are_an_error_with_the_cluster_in_it() -> None:
    found = RecordReader("dc1", {"bootstrap.servers": "x:1", "no.such.option": "1"}).first_at(
        {TopicPartition("t", 0): 0}
    )
    assert isinstance(found, ClusterError)
    assert "dc1" in str(found)
    assert "no.such.option" in str(found)
