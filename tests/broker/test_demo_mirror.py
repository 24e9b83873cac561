from __future__ import annotations

import functools
import time

import pytest
from confluent_kafka import Producer

from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options, stable_ends
from offset_sync_demo.kafka.log_dump import LogRecord, dump_log
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.mirror import Mirror

pytestmark = [
    pytest.mark.broker,
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
]
Clusters = dict[str, EmbeddedCluster]


@functools.cache
def producer_of(bootstrap_servers: str) -> Producer:
    return Producer(client_options(bootstrap_servers, enable_idempotence=True))


def produce(cluster: EmbeddedCluster, topic: str, values: list[str], partitions: int = 2, timestamp: int = 0) -> None:
    producer = producer_of(cluster.bootstrap_servers)
    for number, value in enumerate(values):
        headers = [("trace", value.encode())]
        place = number % partitions
        producer.produce(topic, value, key=f"k{number}", partition=place, timestamp=timestamp, headers=headers)
    assert producer.flush(120) == 0


def produce_in_transaction(cluster: EmbeddedCluster, topic: str, values: list[str], *, commits: bool) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers, transactional_id=f"tx-{topic}"))
    producer.init_transactions(120)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(120)
    if commits:
        producer.commit_transaction(120)
    else:
        producer.abort_transaction(120)


def values_of(records: list[LogRecord]) -> list[str]:
    return [(record.value or b"").decode() for record in records]


def native(records: list[LogRecord]) -> list[LogRecord]:
    return [record for record in records if record.header("IDC") is None]


def mirrored(records: list[LogRecord]) -> list[LogRecord]:
    return [record for record in records if record.header("IDC") is not None]


@pytest.fixture
def mirrors(clusters: Clusters, topic_name: str):
    create_topic(clusters.values(), topic_name, 2)
    dc1, dc2 = clusters["dc1"], clusters["dc2"]
    both = [Mirror(dc1, dc2, [topic_name]), Mirror(dc2, dc1, [topic_name])]
    for mirror in both:
        mirror.start()
    yield both
    for mirror in both:
        mirror.kill()


def test_both_sides_hold_everything_and_keep_the_order_of_each_origin(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    for turn in range(5):
        produce(clusters["dc1"], topic_name, [f"a{turn}-{number}" for number in range(100)])
        produce(clusters["dc2"], topic_name, [f"b{turn}-{number}" for number in range(100)])
    for mirror in mirrors:
        mirror.drain()

    for partition in (0, 1):
        left = dump_log(clusters["dc1"], topic_name, partition)
        right = dump_log(clusters["dc2"], topic_name, partition)
        assert len(left) == len(right) == 500
        assert values_of(mirrored(right)) == values_of(native(left))
        assert values_of(mirrored(left)) == values_of(native(right))


def test_a_copy_names_its_origin_and_offset_and_keeps_everything_else(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    produce(clusters["dc2"], topic_name, ["shift"], partitions=1)
    mirrors[1].drain()
    produce(clusters["dc1"], topic_name, ["x", "y"], partitions=1, timestamp=1_600_000_000_123)
    mirrors[0].drain()

    original = native(dump_log(clusters["dc1"], topic_name, 0))[0]
    copy = mirrored(dump_log(clusters["dc2"], topic_name, 0))[0]
    assert (original.offset, copy.header("IDC"), copy.header("Offset")) == (1, b"dc1", b"1")
    assert copy.timestamp == original.timestamp == 1_600_000_000_123
    assert (copy.key, copy.value) == (original.key, original.value) == (b"k0", b"x")
    assert copy.headers[:-2] == original.headers == [("trace", b"x")]


def test_a_copy_is_never_copied_back(clusters: Clusters, mirrors: list[Mirror], topic_name: str) -> None:
    produce(clusters["dc1"], topic_name, ["once"])
    for mirror in [*mirrors, *mirrors]:
        mirror.drain()

    assert values_of(dump_log(clusters["dc1"], topic_name, 0)) == ["once"]
    assert mirrors[1].copied == 0


def test_records_of_an_aborted_transaction_are_not_copied(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    produce_in_transaction(clusters["dc1"], topic_name, ["kept", "kept too"], commits=True)
    produce_in_transaction(clusters["dc1"], topic_name, ["dropped"], commits=False)
    mirrors[0].drain()

    assert values_of(dump_log(clusters["dc2"], topic_name, 0)) == ["kept", "kept too"]
    assert mirrors[0].lag() == 0
    assert mirrors[0].position[topic_name, 0] == 5  # three records and two markers


def test_draining_does_not_wait_for_an_open_transaction(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    producer = Producer(client_options(clusters["dc1"].bootstrap_servers, transactional_id=f"open-{topic_name}"))
    producer.init_transactions(120)
    producer.begin_transaction()
    producer.produce(topic_name, "undecided", partition=0)
    producer.flush(120)

    assert stable_ends(clusters["dc1"], [(topic_name, 0)]) == {(topic_name, 0): 0}
    mirrors[0].drain()
    assert dump_log(clusters["dc2"], topic_name, 0) == []
    producer.abort_transaction(120)


def test_a_mirror_started_again_goes_on_where_it_stopped(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    mirror = mirrors[0]
    produce(clusters["dc1"], topic_name, ["before"] * 50, partitions=1)
    mirror.drain()
    mirror.stop()
    produce(clusters["dc1"], topic_name, ["meanwhile"] * 50, partitions=1)
    successor = Mirror(mirror.source, mirror.target, [topic_name], position=mirror.position)
    successor.start()
    successor.drain()
    successor.stop()

    assert values_of(dump_log(clusters["dc2"], topic_name, 0)) == ["before"] * 50 + ["meanwhile"] * 50


def test_a_mirror_killed_at_any_moment_loses_nothing(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    mirror, values = mirrors[0], [f"v{number}" for number in range(6000)]
    for start in range(0, len(values), 2000):
        produce(clusters["dc1"], topic_name, values[start : start + 2000], partitions=1)
        mirror.kill()
        mirror.start()
    mirror.drain()

    copies = values_of(dump_log(clusters["dc2"], topic_name, 0))
    assert list(dict.fromkeys(copies)) == values  # the first copies, in order; repeats are allowed


def test_a_mirror_killed_with_records_under_way_sends_them_again(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    mirror, values = mirrors[0], [f"v{number}" for number in range(500)]
    produce(clusters["dc1"], topic_name, ["first"], partitions=1)
    mirror.drain()
    clusters["dc2"].pause()
    try:
        produce(clusters["dc1"], topic_name, values, partitions=1)
        time.sleep(0.5)
        mirror.kill()
    finally:
        clusters["dc2"].resume()
    assert mirror.position[topic_name, 0] == 1
    mirror.start()
    mirror.drain()

    copies = values_of(dump_log(clusters["dc2"], topic_name, 0))
    assert list(dict.fromkeys(copies)) == ["first", *values]


@pytest.mark.parametrize("end", ["dc1", "dc2"])
def test_a_mirror_waits_for_a_cluster_that_died_and_goes_on(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str, end: str
) -> None:
    produce(clusters["dc1"], topic_name, [f"early {number}" for number in range(100)], partitions=1)
    mirrors[0].drain()
    clusters[end].kill()
    try:
        time.sleep(1.0)
    finally:
        clusters[end].start()
    produce(clusters["dc1"], topic_name, [f"late {number}" for number in range(100)], partitions=1)
    mirrors[0].drain()

    expected = [f"{word} {number}" for word in ("early", "late") for number in range(100)]
    assert values_of(mirrored(dump_log(clusters["dc2"], topic_name, 0))) == expected


def test_a_record_the_target_refuses_is_named_and_never_skipped(clusters: Clusters, topic_name: str) -> None:
    create_topic(clusters["dc1"], topic_name, 1)
    create_topic(clusters["dc2"], topic_name, 1, {"max.message.bytes": "500"})
    produce(clusters["dc1"], topic_name, ["small", "large" * 300, "small again"], partitions=1)
    mirror = Mirror(clusters["dc1"], clusters["dc2"], [topic_name])
    mirror.start()
    try:
        with pytest.raises(TimeoutError, match="too large"):
            mirror.drain(3)
        assert mirror.position[topic_name, 0] <= 1
    finally:
        mirror.kill()
