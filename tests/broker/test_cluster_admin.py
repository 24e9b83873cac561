"""Topics, log ends, committed offsets, members and writes of a real cluster: the contract of ClusterAdmin."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer

from broker.broker_versions import PROTOCOLS, WRITE_TOPIC_IDS
from broker.crafted_logs import create_topics
from broker.group_member import member, transaction
from broker.installation import until
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import Committed, LogEnds, Reach, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.lease import OpenFence
from offset_sync.sync.offset_writer import write_offsets
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options, read_partition

pytestmark = pytest.mark.versions
PARTITIONS = 4


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> ClusterAdmin:
    admin = ClusterAdmin("dc2", {"bootstrap.servers": cluster.bootstrap_servers})
    admin.committed_offsets(["any"])  # on a new cluster, waits until its topic of offsets is there and coordinated
    return admin


@pytest.fixture
def topic(cluster: EmbeddedCluster, topic_name: str) -> str:
    create_topics(cluster, {topic_name: PARTITIONS})
    return topic_name


@pytest.fixture
def write(group_name: str, topic: str) -> Callable[..., OffsetWrite]:
    def make(partition: int = 0, offset: int = 7, epoch: int | None = None, topic: str = topic) -> OffsetWrite:
        return OffsetWrite(group_name, topic, partition, offset, epoch, None)

    return make


def write_batch(admin: ClusterAdmin, writes: list[OffsetWrite], dry_run: bool = False) -> list[WriteOutcome]:
    return write_offsets(writes, admin, fence=OpenFence(), dry_run=dry_run, deadline=60)


def wanted(group: str, topic: str, offset: int = 7, expected: int | None = None) -> list[OffsetWrite]:
    return [OffsetWrite(group, topic, each, offset, None, expected) for each in range(PARTITIONS)]


def test_topics_are_told_with_their_ids_and_asking_creates_none(admin: ClusterAdmin, topic: str) -> None:
    described = admin.describe([topic, "no-such-topic", "no topic", "", topic])
    assert list(described) == [topic]
    assert described[topic].partitions == PARTITIONS
    assert str(uuid.UUID(described[topic].topic_id)) == described[topic].topic_id
    assert uuid.UUID(described[topic].topic_id).int != 0
    assert admin.topics()[topic] == described[topic]
    assert {"__consumer_offsets", "no-such-topic"}.isdisjoint(admin.topics())
    assert (admin.partition_count("__consumer_offsets"), admin.partition_count("no-such-topic")) == (8, None)


def test_ends_are_given_for_what_exists_whatever_else_is_asked(
    cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str
) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers))
    for _ in range(5):
        producer.produce(topic, b"value", partition=1)
    producer.flush(120)
    known = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    unknown = [TopicPartition(topic, 9), TopicPartition("no-such-topic", 0), TopicPartition("no topic", 0)]
    ends = {known[0]: LogEnds(0, 0, leader_epoch=0), known[1]: LogEnds(0, 5, leader_epoch=0)}
    assert (admin.ends([*known, *unknown]), admin.ends([])) == (ends, {})


def test_an_open_transaction_parts_the_ends_of_its_log(
    cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str
) -> None:
    plain = Producer(client_options(cluster.bootstrap_servers))
    producer = Producer(client_options(cluster.bootstrap_servers, transactional_id=topic))
    producer.init_transactions(120)
    producer.begin_transaction()
    for each in (producer, plain, plain):
        each.produce(topic, b"value", partition=0)
        assert each.flush(120) == 0
    place, *others = (TopicPartition(topic, number) for number in range(PARTITIONS))
    assert admin.reaches(topic.__eq__) == {place: Reach(0, 3), **dict.fromkeys(others, Reach(0, 0))}
    producer.abort_transaction(120)  # the coordinator answers before its marker is in the log
    until(lambda: admin.reaches(topic.__eq__)[place] == Reach(4, 4))


@pytest.mark.parametrize("epoch", [None, 2**31 - 1])
def test_a_commit_is_stored_with_its_leader_epoch_and_empty_metadata(
    cluster: EmbeddedCluster, admin: ClusterAdmin, write: Callable[..., OffsetWrite], epoch: int | None
) -> None:
    wanted = write(epoch=epoch)
    place = TopicPartition(wanted.topic, 0)
    assert admin.write_offsets({wanted.group_id: [wanted]}) == {wanted.group_id: {place: None}}
    key = len(wanted.group_id.encode()).to_bytes(2, "big") + wanted.group_id.encode()
    records = [each for n in range(8) for each in read_partition(cluster, ("__consumer_offsets", n))]
    kinds = (b"\0\0" + key, b"\0\1" + key)
    value = [each.value() or b"" for each in records if (each.key() or b"").startswith(kinds)][-1]
    stored_epoch = (-1 if epoch is None else epoch).to_bytes(4, "big", signed=True)
    version, empty_string = (b"\0\4", b"\1") if "dc2" in WRITE_TOPIC_IDS else (b"\0\3", b"\0\0")
    assert value.startswith(version + (7).to_bytes(8, "big") + stored_epoch + empty_string)
    assert admin.committed_offsets([wanted.group_id]) == {wanted.group_id: {place: Committed(7, "")}}


def test_one_bad_partition_costs_its_own_row_only(admin: ClusterAdmin, write: Callable[..., OffsetWrite]) -> None:
    bad = {
        "UNKNOWN_TOPIC_OR_PART": [write(99), write(topic="no-such-topic")],
        "_INVALID_ARG": [
            *(write(1, epoch=-1), write(2, epoch=2**31), write(3, offset=-1)),
            *(write(2**31), write(-1), write(topic="no topic"), write(topic="")),
        ],
    }
    good = write(0)
    answer = admin.write_offsets({good.group_id: [good, *(each for some in bad.values() for each in some)]})
    found = answer[good.group_id]
    assert not isinstance(found, ClusterError)
    assert found.pop(TopicPartition(good.topic, 0)) is None
    named = {name: {place for place, error in found.items() if (error or "").startswith(name)} for name in bad}
    assert named == {name: {TopicPartition(each.topic, each.partition) for each in some} for name, some in bad.items()}
    assert [place.partition for place in admin.committed_offsets([good.group_id])[good.group_id]] == [0]


def test_strange_groups_are_only_text_and_impossible_ones_are_refused_without_their_neighbours(
    admin: ClusterAdmin, write: Callable[..., OffsetWrite]
) -> None:
    each, place = write(), TopicPartition(write().topic, 0)
    impossible = ["", "with\0nul", "x" * 32_768, "lone \ud800 surrogate"]
    strange = [each.group_id + suffix for suffix in (" with spaces", "\n\x1b[31m'\"", "-grüße-組-😀", "x" * 30_000)]
    unknown = f"{each.group_id}-unknown"
    writes = {group: [replace(each, group_id=group)] for group in [*impossible, *strange]}
    answers = admin.write_offsets(writes)
    found = admin.committed_offsets([*impossible, *strange, unknown])
    assert {group for group, answer in answers.items() if isinstance(answer, ClusterError)} == {*impossible}
    assert {group for group, answer in found.items() if isinstance(answer, ClusterError)} == {*impossible}
    assert [answers[group] for group in strange] == [{place: None}] * len(strange)
    assert [found[group] for group in strange] == [{place: Committed(7, "")}] * len(strange)
    assert found[unknown] == {}


def test_an_offset_that_a_transaction_may_still_replace_is_not_known(
    cluster: EmbeddedCluster, admin: ClusterAdmin, write: Callable[..., OffsetWrite]
) -> None:
    group, place = write().group_id, TopicPartition(write().topic, 0)
    other = f"{group}-other"
    admin.write_offsets({group: [write()], other: [replace(write(), group_id=other)]})
    with transaction(cluster, group, place, 9) as producer:
        # Two seconds of patience, and the rest for a busy machine.
        found = admin.committed_offsets([group, other], deadline=20)
        assert isinstance(found[group], ClusterError)
        assert "UNSTABLE_OFFSET_COMMIT" in str(found[group])
        assert not isinstance(found[group], TransientError)  # it may hang for minutes: no caller must wait for it
        assert found[other] == {place: Committed(7, "")}
        producer.abort_transaction(120)
    assert admin.committed_offsets([group]) == {group: {place: Committed(7, "")}}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_with_members_is_left_alone_and_written_to_once_they_have_left(
    cluster: EmbeddedCluster, admin: ClusterAdmin, topic: str, group_name: str, protocol: str
) -> None:
    def active() -> set[str]:
        listed = admin.groups()
        return {each for each in (group_name, f"{group_name}-offsets-only") if listed.get(each)}

    writes = wanted(group_name, topic)
    write_batch(admin, wanted(f"{group_name}-offsets-only", topic))
    assert active() == set()
    with member(cluster, group_name, topic, protocol):
        assert active() == {group_name}
        refused = write_batch(admin, writes)
        assert admin.committed_offsets([group_name])[group_name] == {}
        late = Consumer(client_options(cluster.bootstrap_servers, group_id=group_name, group_protocol=protocol))
        late.subscribe([topic])
        late.poll(0.5)  # the first member does not poll: the group is rebalancing
        assert active() == {group_name}
        late.close()
    assert {(each.outcome, each.error) for each in refused} == {(Outcome.TARGET_ACTIVE, "UNKNOWN_MEMBER_ID")}
    until(lambda: not active())
    assert {each.outcome for each in write_batch(admin, writes)} == {Outcome.COMMITTED}
