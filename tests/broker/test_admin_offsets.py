"""Committed offsets of a real cluster: read, written and deleted through ClusterAdmin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import NewTopic

from broker.broker_versions import WRITE_TOPIC_IDS
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import Committed, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Rule, TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options, read_partition

pytestmark = [pytest.mark.broker, pytest.mark.versions]

PARTITIONS = 4


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
    creator = admin_of(cluster)
    creator.create_topics([NewTopic(topic_name, PARTITIONS, 1)])[topic_name].result(120)
    while not admin.ends([TopicPartition(topic_name, 0)]):  # the controller knows it before the broker does
        time.sleep(0.02)
    return topic_name


@pytest.fixture
def write(group_name: str, topic: str) -> Callable[..., OffsetWrite]:
    def make(partition: int = 0, offset: int = 7, epoch: int | None = None, topic: str = topic) -> OffsetWrite:
        return OffsetWrite(group_name, topic, partition, offset, epoch, Rule.SET, None)

    return make


def stored_commit(cluster: EmbeddedCluster, group: str) -> bytes:
    """The value of the group's newest commit record, as in the log."""
    key = len(group.encode()).to_bytes(2, "big") + group.encode()
    partitions = (
        admin_of(cluster).list_topics("__consumer_offsets", timeout=120).topics["__consumer_offsets"].partitions
    )
    values = [
        record.value()
        for number in partitions
        for record in read_partition(cluster, ("__consumer_offsets", number))
        if (record.key() or b"")[:2] in (b"\0\0", b"\0\1") and (record.key() or b"")[2:].startswith(key)
    ]
    assert values[-1] is not None
    return values[-1]


@pytest.mark.parametrize("epoch", [None, 0, 3, 2**31 - 1])
def test_a_commit_is_stored_with_its_leader_epoch_and_empty_metadata(
    cluster: EmbeddedCluster, admin: ClusterAdmin, write: Callable[..., OffsetWrite], epoch: int | None
) -> None:
    wanted = write(epoch=epoch)
    place = TopicPartition(wanted.topic, 0)
    assert admin.write_offsets({wanted.group_id: [wanted]}) == {wanted.group_id: {place: None}}
    value = stored_commit(cluster, wanted.group_id)
    stored_epoch = (-1 if epoch is None else epoch).to_bytes(4, "big", signed=True)
    version, empty_string = (b"\0\4", b"\1") if "dc2" in WRITE_TOPIC_IDS else (b"\0\3", b"\0\0")
    stored = version + (7).to_bytes(8, "big") + stored_epoch + empty_string
    assert value[: len(stored)] == stored
    assert admin.committed_offsets([wanted.group_id]) == {wanted.group_id: {place: Committed(7, "")}}


def test_one_bad_partition_costs_its_own_row_only(admin: ClusterAdmin, write: Callable[..., OffsetWrite]) -> None:
    bad = {
        "UNKNOWN_TOPIC_OR_PART": [write(99), write(topic="no-such-topic")],
        "_INVALID_ARG": [
            *(write(1, epoch=-1), write(2, epoch=2**31), write(3, offset=-1)),
            *(write(2**31), write(-1), write(topic="no topic"), write(topic="")),
        ],
    }
    wanted = [write(0), *(each for some in bad.values() for each in some)]
    group = wanted[0].group_id
    answer = admin.write_offsets({group: wanted})[group]
    assert not isinstance(answer, ClusterError)
    assert answer.pop(TopicPartition(wanted[0].topic, 0)) is None
    found = {name: {place for place, error in answer.items() if (error or "").startswith(name)} for name in bad}
    assert found == {name: {TopicPartition(each.topic, each.partition) for each in some} for name, some in bad.items()}
    assert [place.partition for place in admin.committed_offsets([group])[group]] == [0]


@pytest.mark.parametrize("group", ["", "with\0nul", "x" * 32_768, "lone \ud800 surrogate"], ids=range(4))
def test_a_group_that_cannot_be_asked_for_is_refused_without_its_neighbours(
    admin: ClusterAdmin, write: Callable[..., OffsetWrite], group: str
) -> None:
    neighbour = write()
    answers = admin.write_offsets({group: [neighbour], neighbour.group_id: [neighbour]})
    assert isinstance(answers[group], ClusterError)
    assert answers[neighbour.group_id] == {TopicPartition(neighbour.topic, 0): None}
    found = admin.committed_offsets([group, neighbour.group_id])
    assert isinstance(found[group], ClusterError)
    assert not isinstance(found[neighbour.group_id], ClusterError)


@pytest.mark.parametrize("suffix", [" with spaces", "\n\x1b[31m'\"", "-grüße-組-😀", "x" * 30_000], ids=range(4))
def test_strange_group_ids_are_only_text(admin: ClusterAdmin, write: Callable[..., OffsetWrite], suffix: str) -> None:
    wanted = write()
    group, place = wanted.group_id + suffix, TopicPartition(wanted.topic, 0)
    assert admin.write_offsets({group: [replace(wanted, group_id=group)]}) == {group: {place: None}}
    found = admin.committed_offsets([group, wanted.group_id])
    assert found == {group: {place: Committed(7, "")}, wanted.group_id: {}}


def test_a_group_that_does_not_exist_has_committed_nothing(admin: ClusterAdmin, group_name: str) -> None:
    assert admin.committed_offsets([group_name]) == {group_name: {}}


def test_an_offset_that_a_transaction_may_still_replace_is_not_known(
    cluster: EmbeddedCluster, admin: ClusterAdmin, write: Callable[..., OffsetWrite]
) -> None:
    group, place = write().group_id, TopicPartition(write().topic, 0)
    other = f"{group}-other"
    admin.write_offsets({group: [write()], other: [replace(write(), group_id=other)]})
    with open_transaction(cluster, group, ClientPartition(place.topic, 0, 9)) as producer:
        found = admin.committed_offsets(
            [group, other], deadline=20
        )  # two seconds of patience, and the rest for a busy machine
        assert isinstance(found[group], ClusterError)
        assert "UNSTABLE_OFFSET_COMMIT" in str(found[group])
        assert not isinstance(found[group], TransientError)  # it may hang for minutes: no caller must wait for it
        assert found[other] == {place: Committed(7, "")}
        producer.abort_transaction(120)
    assert admin.committed_offsets([group]) == {group: {place: Committed(7, "")}}


@contextmanager
def open_transaction(cluster: EmbeddedCluster, group: str, position: ClientPartition) -> Iterator[Producer]:
    options = client_options(cluster.bootstrap_servers, transactional_id=group)
    producer = Producer(options)
    producer.init_transactions(120)
    producer.begin_transaction()
    # The consumer only lends its group's name: it joins nothing, as Spark's or Flink's do not.
    lender = Consumer(client_options(cluster.bootstrap_servers, group_id=group))
    producer.send_offsets_to_transaction([position], lender.consumer_group_metadata(), 120)
    yield producer
    lender.close()
