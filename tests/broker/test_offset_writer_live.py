"""The sink against a real cluster: active groups, groups by the thousand, another client's writes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import NewPartitions, NewTopic

from broker.broker_versions import PROTOCOLS
from broker.committed_offsets import small_batches
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, Rule, TopicPartition, WriteOutcome
from offset_sync.state.lease import OpenFence
from offset_sync.sync.offset_writer import write_offsets
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options

pytestmark = [pytest.mark.broker, pytest.mark.versions]

PARTITIONS = 4
MANY = 300


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


def write_batch(admin: ClusterAdmin, writes: list[OffsetWrite], dry_run: bool = False) -> list[WriteOutcome]:
    return write_offsets(writes, admin, fence=OpenFence(), dry_run=dry_run, deadline=15)


def wanted(group: str, topic: str, offset: int = 7, expected: int | None = None) -> list[OffsetWrite]:
    return [OffsetWrite(group, topic, each, offset, None, Rule.FORWARD, expected) for each in range(PARTITIONS)]


@contextmanager
def member(cluster: EmbeddedCluster, group: str, topic: str, protocol: str) -> Iterator[None]:
    consumer = Consumer(client_options(cluster.bootstrap_servers, group_id=group, group_protocol=protocol))
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    yield
    consumer.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_with_members_is_left_alone_and_written_to_once_they_have_left(
    cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str, group_name: str, protocol: str
) -> None:
    writes = wanted(group_name, topic)
    with member(cluster, group_name, topic, protocol):
        active = write_batch(admin, writes)
        before = admin.committed_offsets([group_name])[group_name]
    assert {(each.outcome, each.error) for each in active} == {(Outcome.TARGET_ACTIVE, "UNKNOWN_MEMBER_ID")}
    assert before == {}
    assert {each.outcome for each in write_batch(admin, writes)} == {Outcome.COMMITTED}


def test_an_unknown_topic_fails_alone(admin: ClusterAdmin, topic: str, group_name: str) -> None:
    results = write_batch(admin, [*wanted(group_name, topic), *wanted(group_name, "no-such-topic")])
    assert [each.outcome for each in results] == [Outcome.COMMITTED] * PARTITIONS + [Outcome.FAILED] * PARTITIONS
    assert {each.error for each in results[PARTITIONS:]} == {"UNKNOWN_TOPIC_OR_PART"}


def test_the_empty_group_fails_with_the_reason_and_the_others_are_written(
    admin: ClusterAdmin, topic: str, group_name: str
) -> None:
    results = write_batch(admin, [*wanted("", topic), *wanted(group_name, topic)])
    assert [each.outcome for each in results] == [Outcome.FAILED] * PARTITIONS + [Outcome.COMMITTED] * PARTITIONS
    assert "empty group id" in str(results[0].error)


def test_what_another_client_wrote_is_moved_forward_only_and_only_as_expected(
    admin: ClusterAdmin, topic: str, group_name: str
) -> None:
    theirs = OffsetWrite(group_name, topic, 0, 50, None, Rule.SET, None)
    admin.write_offsets({group_name: [theirs]})
    unseen = write_batch(admin, wanted(group_name, topic, 60)[:1])
    behind = write_batch(admin, wanted(group_name, topic, 40, expected=50)[:1])
    ahead = write_batch(admin, wanted(group_name, topic, 60, expected=50)[:1])
    assert [each.outcome for each in (*unseen, *behind, *ahead)] == [
        Outcome.NOT_FORWARD,
        Outcome.NOT_FORWARD,
        Outcome.COMMITTED,
    ]
    (back,) = wanted(group_name, topic, 30)[:1]
    for_a_person = [replace(each, moves_forward=True) for each in (back, replace(back, offset=70))]
    assert [write_batch(admin, [each])[0].outcome for each in (back, *for_a_person)] == [
        Outcome.NOT_FORWARD,
        Outcome.NOT_FORWARD,
        Outcome.COMMITTED,
    ]
    assert admin.committed_offsets([group_name]) == {group_name: {TopicPartition(topic, 0): Committed(70, "")}}


def test_a_thousand_groups_are_written_in_one_wave_and_a_second_wave_changes_nothing(
    admin: ClusterAdmin, topic: str, group_name: str
) -> None:
    writes = [each for number in range(1000) for each in wanted(f"{group_name}-{number}", topic, number)]
    assert {each.outcome for each in write_batch(admin, writes, dry_run=True)} == {Outcome.DRY_RUN}
    assert {each.previous_offset for each in write_batch(admin, writes, dry_run=True)} == {None}
    assert {each.outcome for each in write_batch(admin, writes)} == {Outcome.COMMITTED}
    again = write_batch(admin, writes)
    assert {each.outcome for each in again} == {Outcome.UNCHANGED}
    assert [each.previous_offset for each in again] == [each.offset for each in writes]


def test_a_request_is_sent_only_as_long_as_it_may_be(admin: ClusterAdmin, topic: str, group_name: str) -> None:
    groups = [f"{group_name}-{number}" for number in range(6)]
    wanted = {group: [OffsetWrite(group, topic, 0, 7, None, Rule.SET, None)] for group in groups}
    allowed = iter([True] * 3)
    found = admin.write_offsets(wanted, 15, lambda: next(allowed, False))
    errors = [each[TopicPartition(topic, 0)] for each in found.values() if isinstance(each, dict)]
    assert errors == [None] * 3 + ["REQUEST_NOT_SENT"] * 3
    assert [len(each) for each in admin.committed_offsets(groups).values() if isinstance(each, dict)] == [1] * 3 + [
        0
    ] * 3


@pytest.fixture
def wide_topic(cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str) -> str:
    creator = admin_of(cluster)
    creator.create_partitions([NewPartitions(topic, MANY)])[topic].result(120)
    while not admin.ends([TopicPartition(topic, MANY - 1)]):
        time.sleep(0.02)
    return topic


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_commit_larger_than_a_batch_is_written_in_parts(
    cluster: EmbeddedCluster, admin: ClusterAdmin, wide_topic: str, group_name: str, protocol: str
) -> None:
    writes = [OffsetWrite(group_name, wide_topic, each, 7, None, Rule.SET, None) for each in range(MANY)]
    with member(cluster, group_name, wide_topic, protocol):
        pass
    with small_batches(cluster):
        results = write_batch(admin, [*writes, *wanted(f"{group_name}-small", wide_topic)])
        again = write_batch(admin, [replace(each, refresh=True, expected_offset=7) for each in writes])
    assert {each.outcome for each in (*results, *again)} == {Outcome.COMMITTED}
    found = admin.committed_offsets([group_name])[group_name]
    assert found == {TopicPartition(wide_topic, number): Committed(7, "") for number in range(MANY)}


@pytest.mark.parametrize("is_small", [False, True])
def test_many_read_lists_are_written_in_parts(
    cluster: EmbeddedCluster, admin: ClusterAdmin, wide_topic: str, group_name: str, is_small: bool
) -> None:
    texts = {number: f"{number:04}" * 1000 for number in range(MANY)}
    lists = [
        OffsetWrite(group_name, wide_topic, each, 7, None, Rule.SET, None, metadata=text)
        for each, text in texts.items()
    ]
    with small_batches(cluster) if is_small else nullcontext():
        assert {each.outcome for each in write_batch(admin, lists)} == {Outcome.COMMITTED}
    found = admin.committed_offsets([group_name])[group_name]
    assert not isinstance(found, ClusterError)
    assert {place.partition: each.metadata for place, each in found.items()} == texts
