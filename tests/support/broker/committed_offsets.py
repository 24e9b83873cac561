"""Committed offsets of real clusters, set and read by hand; metadata exact to the byte."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.group_offsets import GroupAnswer, GroupOffsets
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, read_partition

Partition = tuple[str, int]
"""A topic and a partition number."""


def admin_for(cluster: EmbeddedCluster) -> ClusterAdmin:
    """Return what reads and writes committed offsets, metadata exact to the byte."""
    return ClusterAdmin(cluster.alias, {"bootstrap.servers": cluster.bootstrap_servers})


def commit(cluster: EmbeddedCluster, offsets: Mapping[str, Mapping[Partition, int | tuple[int, str]]]) -> None:
    """Commit for each group, as an operator would for groups without members; a tuple brings metadata."""
    rows: dict[str, list[OffsetWrite]] = {}
    for group, by_place in offsets.items():
        for (topic, partition), wanted in by_place.items():
            offset, metadata = wanted if isinstance(wanted, tuple) else (wanted, "")
            write = OffsetWrite(group, topic, partition, offset, None, None, metadata=metadata)
            rows.setdefault(group, []).append(write)
    _wait_for_coordinators(admin_for(cluster), list(rows))
    client = GroupOffsets({"bootstrap.servers": cluster.bootstrap_servers, **_UNUSED_GROUP})
    answers = client.write(rows.values(), time.monotonic() + 120, lambda: True)
    refused = {group: answer for group, answer in zip(rows, answers, strict=True) if not _is_accepted(answer)}
    assert refused == {}, refused


_UNUSED_GROUP = {"group.id": "unused", "enable.auto.commit": "false"}


def _is_accepted(answer: GroupAnswer) -> bool:
    return isinstance(answer, list) and all(each.error is None for each in answer)


def _wait_for_coordinators(kafka: ClusterAdmin, groups: Sequence[str]) -> None:
    """Return once every group's coordinator answers: a cluster that is new loads them one after the other."""
    deadline = time.monotonic() + 120
    while errors := [each for each in kafka.committed_offsets(groups).values() if isinstance(each, ClusterError)]:
        assert time.monotonic() < deadline, errors
        time.sleep(0.2)


def committed(cluster: EmbeddedCluster, groups: Iterable[str]) -> dict[str, dict[Partition, Committed]]:
    """Return what each group has committed there; AssertionError where one cannot be read."""
    found = {}
    for group, answer in admin_for(cluster).committed_offsets(list(groups), deadline=120).items():
        assert not isinstance(answer, ClusterError), answer
        found[group] = {(place.topic, place.partition): value for place, value in answer.items()}
    return found


def commits_recorded(cluster: EmbeddedCluster, topic_prefix: str) -> int:
    """Return how many records about offsets in such topics the cluster's log of commits holds."""
    topic = "__consumer_offsets"
    partitions = admin_of(cluster).list_topics(topic, timeout=120).topics[topic].partitions
    return sum(
        topic_prefix.encode() in (record.key() or b"")
        for number in partitions
        for record in read_partition(cluster, (topic, number))
    )
