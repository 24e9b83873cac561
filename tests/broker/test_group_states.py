"""Which groups of a real cluster have members."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer

from broker.broker_versions import PROTOCOLS
from broker.committed_offsets import commit
from broker.crafted_logs import create_topics
from offset_sync.kafka.group_members import GroupStates
from offset_sync.model.errors import ClusterError
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.versions]

CLIENTS_OWN_PATIENCE_S = 60.0  # librdkafka's, without a deadline


@pytest.fixture
def cluster(clusters: dict[str, EmbeddedCluster]) -> EmbeddedCluster:
    return clusters["dc2"]


@pytest.fixture
def states(cluster: EmbeddedCluster) -> GroupStates:
    return GroupStates("dc2", {"bootstrap.servers": cluster.bootstrap_servers})


@contextmanager
def member(cluster: EmbeddedCluster, group: str, topic: str, protocol: str) -> Iterator[Consumer]:
    """A consumer that has joined and has its partitions."""
    options: dict[str, Any] = {"group_id": group, "group_protocol": protocol, "auto_offset_reset": "earliest"}
    consumer = Consumer(client_options(cluster.bootstrap_servers, **options))
    try:
        consumer.subscribe([topic])
        wait_until(lambda: bool(consumer.poll(0.1) or consumer.assignment()))
        yield consumer
    finally:
        consumer.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until, "not so in time"


def active(states: GroupStates) -> frozenset[str]:
    found = states.active()
    assert not isinstance(found, ClusterError), found
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_is_active_while_it_has_members(
    cluster: EmbeddedCluster, states: GroupStates, topic_name: str, group_name: str, protocol: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    commit(cluster, {f"{group_name}-offsets-only": {(topic_name, 0): 0}})
    assert group_name not in active(states)
    with member(cluster, group_name, topic_name, protocol) as consumer:
        assert group_name in active(states)
        consumer.commit(asynchronous=False) if consumer.position(consumer.assignment())[0].offset >= 0 else None
    wait_until(lambda: group_name not in active(states))
    assert f"{group_name}-offsets-only" not in active(states)


def test_a_group_that_is_joining_counts_as_active(
    cluster: EmbeddedCluster, states: GroupStates, topic_name: str, group_name: str
) -> None:
    create_topics(cluster, {topic_name: 1})
    with member(cluster, group_name, topic_name, "classic"):
        options: dict[str, Any] = {"group_id": group_name, "group_protocol": "classic"}
        late = Consumer(client_options(cluster.bootstrap_servers, **options))
        try:
            late.subscribe([topic_name])
            late.poll(0.5)  # the first member does not poll: the group is rebalancing
            assert group_name in active(states)
        finally:
            late.close()


def test_a_dead_or_frozen_cluster_is_an_error_and_not_a_cluster_without_members(
    cluster: EmbeddedCluster, states: GroupStates
) -> None:
    began = time.monotonic()
    unreachable = GroupStates("dc9", {"bootstrap.servers": "127.0.0.1:1"}).active(1.0)
    assert isinstance(unreachable, ClusterError)
    assert "clusters.dc9: did not answer within 1 s, so members of its groups are unknown" in str(unreachable)
    assert time.monotonic() - began < CLIENTS_OWN_PATIENCE_S / 2
    assert not isinstance(states.active(), ClusterError)
    cluster.pause()
    try:
        began = time.monotonic()
        assert isinstance(states.active(1.5), ClusterError)
        assert time.monotonic() - began < CLIENTS_OWN_PATIENCE_S / 2
    finally:
        cluster.resume()
    assert not isinstance(states.active(), ClusterError)


def test_options_that_the_client_refuses_are_an_error() -> None:
    found = GroupStates("dc1", {"bootstrap.servers": "x:1", "no.such.option": "1"}).active()
    assert isinstance(found, ClusterError)
    assert "no.such.option" in str(found)
