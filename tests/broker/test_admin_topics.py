"""What a real cluster says about its topics, and what is said when it is dead or frozen."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import LogEnds, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, Rule, TopicPartition
from offset_sync.state.lease import OpenFence
from offset_sync.sync.offset_writer import write_offsets
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options

pytestmark = [pytest.mark.broker, pytest.mark.versions]

UNREACHABLE = "127.0.0.1:1"
WRITE = OffsetWrite("group", "orders", 0, 7, None, Rule.SET, None)


@pytest.fixture
def cluster(clusters: dict[str, EmbeddedCluster]) -> EmbeddedCluster:
    return clusters["dc2"]


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> ClusterAdmin:
    admin = ClusterAdmin("dc2", {"bootstrap.servers": cluster.bootstrap_servers})
    admin.committed_offsets(["any"])  # on a new cluster, waits until its topic of offsets is there and coordinated
    return admin


@pytest.fixture
def topic(cluster: EmbeddedCluster, admin: ClusterAdmin, topic_name: str) -> str:
    create(cluster, admin, topic_name)
    return topic_name


def create(cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str) -> None:
    creator = admin_of(cluster)
    creator.create_topics([NewTopic(topic, 3, 1)])[topic].result(120)
    while len(admin.ends(TopicPartition(topic, number) for number in range(3))) < 3:
        time.sleep(0.02)  # the controller knows it before the broker does


def test_a_topic_has_an_id_and_partitions_and_an_unknown_one_is_left_out(admin: ClusterAdmin, topic: str) -> None:
    described = admin.describe([topic, "no-such-topic", "no topic", "", topic])
    assert list(described) == [topic]
    assert described[topic].partitions == 3
    assert str(uuid.UUID(described[topic].topic_id)) == described[topic].topic_id
    assert uuid.UUID(described[topic].topic_id).int != 0


def test_a_recreated_topic_has_another_id(cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str) -> None:
    before = admin.describe([topic])[topic].topic_id
    deleter = admin_of(cluster)
    deleter.delete_topics([topic])[topic].result(120)
    while admin.describe([topic]):
        time.sleep(0.02)
    create(cluster, admin, topic)
    assert admin.describe([topic])[topic].topic_id != before


def test_asking_for_a_topic_does_not_create_it(admin: ClusterAdmin, topic_name: str) -> None:
    assert admin.partition_count(topic_name) is None
    assert admin.ends([TopicPartition(topic_name, 0)]) == {}
    assert topic_name not in admin.topics()


def test_internal_topics_are_not_listed_but_can_be_counted(admin: ClusterAdmin, topic: str) -> None:
    assert admin.topics()[topic] == admin.describe([topic])[topic]
    assert "__consumer_offsets" not in admin.topics()
    assert admin.partition_count("__consumer_offsets") == 8


def test_ends_are_given_for_what_exists_whatever_else_is_asked(
    cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str
) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers))
    for _ in range(5):
        producer.produce(topic, b"value", partition=1)
    producer.flush(120)
    known = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    unknown = [TopicPartition(topic, 9), TopicPartition("no-such-topic", 0), TopicPartition("no topic", 0)]
    assert admin.ends([*known, *unknown]) == {
        known[0]: LogEnds(0, 0, leader_epoch=0),
        known[1]: LogEnds(0, 5, leader_epoch=0),
    }
    assert admin.ends([]) == {}


CALLS: dict[str, Callable[[ClusterAdmin], object]] = {
    "topics": lambda admin: admin.topics(deadline=0.5),
    "describe": lambda admin: admin.describe(["orders"], deadline=0.5),
    "count": lambda admin: admin.partition_count("orders", deadline=0.5),
    "ends": lambda admin: admin.ends([TopicPartition("orders", 0)], deadline=0.5),
    "committed": lambda admin: admin.committed_offsets(["group"], deadline=0.5),
}


@pytest.mark.timeout(50)  # less than the client takes without a deadline
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_dead_cluster_is_an_error_that_names_it_and_why(call: Callable[[ClusterAdmin], object]) -> None:
    with pytest.raises(ClusterError, match=r"clusters\.dc9: .*(refused|Connection)"):
        call(ClusterAdmin("dc9", {"bootstrap.servers": UNREACHABLE}))


@pytest.mark.timeout(50)  # less than the client takes without a deadline
def test_writing_to_a_dead_cluster_is_a_timeout_of_each_partition() -> None:
    dead = ClusterAdmin("dc9", {"bootstrap.servers": UNREACHABLE})
    place = TopicPartition("orders", 0)
    assert dead.write_offsets({"group": [WRITE]}, deadline=0.5) == {"group": {place: "_TIMED_OUT"}}
    (outcome,) = write_offsets([WRITE], dead, fence=OpenFence(), dry_run=False, deadline=0.5)
    assert (outcome.outcome, "clusters.dc9: no answer" in str(outcome.error)) == (Outcome.FAILED, True)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_options_the_client_does_not_know_are_an_error_that_names_them(
    call: Callable[[ClusterAdmin], object],
) -> None:
    with pytest.raises(ClusterError, match=r"clusters\.dc9: .*no\.such\.option"):
        call(ClusterAdmin("dc9", {"bootstrap.servers": UNREACHABLE, "no.such.option": "1"}))


def test_a_frozen_broker_is_an_error_by_the_deadline_and_the_same_client_goes_on_afterwards(
    cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str, group_name: str
) -> None:
    wanted = OffsetWrite(group_name, topic, 0, 7, None, Rule.SET, None)
    place = TopicPartition(topic, 0)
    assert admin.write_offsets({group_name: [wanted]}) == {group_name: {place: None}}
    cluster.pause()
    began = time.monotonic()
    try:
        with pytest.raises(TransientError):
            admin.committed_offsets([group_name], deadline=0.5)
        assert admin.write_offsets({group_name: [wanted]}, deadline=0.5) == {group_name: {place: "_TIMED_OUT"}}
        assert time.monotonic() - began < 50  # less than one of them takes without a deadline
    finally:
        cluster.resume()
    assert admin.committed_offsets([group_name])[group_name] != {}
