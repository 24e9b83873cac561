"""Topics on one cluster or on several; every function returns once the brokers show the result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from offset_sync.model.errors import ClusterError
from offset_sync_demo.kafka.clients import Endpoint, admin_of

_SECONDS = 20.0


def create_topic(
    clusters: Endpoint | Iterable[Endpoint], name: str, partitions: int, config: Mapping[str, str] | None = None
) -> None:
    """Create the topic on each cluster with one replica; raises KafkaException when it exists already."""
    for cluster in _each(clusters):
        admin = admin_of(cluster)
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(config or {}))
        admin.create_topics([topic], operation_timeout=_SECONDS)[name].result(_SECONDS)
        _wait_for_partitions(cluster, admin, name, partitions)


def add_partitions(clusters: Endpoint | Iterable[Endpoint], name: str, total: int) -> None:
    """Add partitions to the topic up to *total* on each cluster."""
    for cluster in _each(clusters):
        admin = admin_of(cluster)
        admin.create_partitions([NewPartitions(name, total)], operation_timeout=_SECONDS)[name].result(_SECONDS)
        _wait_for_partitions(cluster, admin, name, total)


def delete_topic(clusters: Endpoint | Iterable[Endpoint], name: str) -> None:
    """Delete the topic on each cluster."""
    for cluster in _each(clusters):
        admin = admin_of(cluster)
        admin.delete_topics([name], operation_timeout=_SECONDS)[name].result(_SECONDS)
        _wait_for_partitions(cluster, admin, name, 0)


def partition_count(cluster: Endpoint, name: str) -> int:
    """Return how many partitions of the topic have a leader; 0 if the topic does not exist."""
    return _led_partitions(admin_of(cluster), name)


def _wait_for_partitions(cluster: Endpoint, admin: AdminClient, name: str, partitions: int) -> None:
    deadline = time.monotonic() + _SECONDS
    while _led_partitions(admin, name) != partitions:
        if time.monotonic() > deadline:
            raise ClusterError(
                cluster.alias,
                f"topic {name} has no leaders for {partitions} partitions after {_SECONDS:.0f} s; see broker.log",
            )
        time.sleep(0.05)


def _led_partitions(admin: AdminClient, name: str) -> int:
    topic = admin.list_topics(name, timeout=_SECONDS).topics.get(name)
    if topic is None or topic.error is not None:
        return 0
    return sum(partition.leader >= 0 for partition in topic.partitions.values())


def _each(clusters: Endpoint | Iterable[Endpoint]) -> Iterable[Endpoint]:
    return clusters if isinstance(clusters, Iterable) else (clusters,)
