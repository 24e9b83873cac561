"""What many groups have committed, read by Kafka's Java client at once: the same as group by group, or missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unittest.mock import MagicMock

import pytest

from broker.committed_offsets import admin_for, commit
from broker.crafted_logs import create_topics
from broker.group_member import transaction
from offset_sync.kafka.requests import Committed
from offset_sync.model.values import TopicPartition
from offset_sync.spark.jvm import start_jvm
from offset_sync.sync.groups_at_once import WORTH_IT, GroupsAtOnce
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.versions, pytest.mark.timeout(300)]
ODD_METADATA = ["", "offset-sync", "grüße 😀", 'a "b" \\ c', "line\nline\ttab", "nul\0inside", "x" * 4000, "{}"]
ENOUGH_S = 20.0


@pytest.fixture
def cluster(clusters: dict[str, EmbeddedCluster], spark_environment: None) -> EmbeddedCluster:
    start_jvm()
    return clusters["dc2"]


@pytest.fixture
def clock() -> MagicMock:
    return MagicMock(return_value=0)


@pytest.fixture
def at_once(cluster: EmbeddedCluster, clock: MagicMock, monkeypatch: pytest.MonkeyPatch) -> Iterator[GroupsAtOnce]:
    # A cold client on a busy machine is slower than what is worth waiting for.
    monkeypatch.setattr("offset_sync.sync.groups_at_once.PATIENCE_S", ENOUGH_S)
    reader = GroupsAtOnce("dc2", lambda: {"bootstrap.servers": cluster.bootstrap_servers}, clock)
    yield reader
    reader.close()


@pytest.fixture
def groups(cluster: EmbeddedCluster, topic_name: str, group_name: str) -> list[str]:
    """Groups of odd names that have committed odd things, and as many that have committed nothing."""
    topics = [topic_name, f"{topic_name}-3", f"{topic_name}.4-x-"]
    create_topics(cluster, dict.fromkeys(topics, 2))
    names = [f"{group_name}{odd}" for odd in ("", "-3", " of two words", "-ö😀", '"', "\\", "{}", "\n")]
    wanted = {
        name: {
            (topic, partition): (10 * number + partition, metadata)
            for topic in topics[: 1 + number % 3]
            for partition in (0, 1)
        }
        for number, (name, metadata) in enumerate(zip(names, ODD_METADATA, strict=True))
    }
    commit(cluster, wanted)
    return [*names, *(f"{group_name}-nothing-{number}" for number in range(WORTH_IT))]


def read(at_once: GroupsAtOnce, groups: Sequence[str]) -> dict[str, dict[TopicPartition, Committed]]:
    return {
        group: {TopicPartition(each.topic, each.partition): Committed(each.offset, each.metadata) for each in found}
        for group, found in at_once.read(groups, ENOUGH_S).items()
    }


def test_all_that_groups_have_committed_is_read_as_one_by_one(
    cluster: EmbeddedCluster, at_once: GroupsAtOnce, groups: list[str]
) -> None:
    found = read(at_once, groups)
    assert found == admin_for(cluster).committed_offsets(groups)
    assert sum(map(len, found.values())) == 30
    assert {each.metadata for placed in found.values() for each in placed.values()} == {*ODD_METADATA}


def test_a_group_with_a_commit_pending_is_missing_and_left_out_for_a_minute(
    cluster: EmbeddedCluster,
    at_once: GroupsAtOnce,
    clock: MagicMock,
    groups: list[str],
    topic_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once.read(groups, ENOUGH_S)  # warm
    with transaction(cluster, groups[0], (topic_name, 0), 99) as producer:
        monkeypatch.setattr("offset_sync.sync.groups_at_once.PATIENCE_S", 2.0)
        assert read(at_once, groups).keys() == {*groups[1:]}
        producer.abort_transaction(60)
    assert read(at_once, groups).keys() == {*groups[1:]}
    clock.return_value += 61
    while len(found := read(at_once, groups)) < len(groups):  # the markers of the transaction come a moment later
        clock.return_value += 61
    assert found[groups[0]][TopicPartition(topic_name, 0)].offset == 0
