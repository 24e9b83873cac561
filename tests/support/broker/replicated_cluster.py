"""A cluster of three nodes: the first is the controller and holds the commits, the others replicate topics."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import NewTopic

from broker.committed_offsets import admin_for
from broker.installation import until
from offset_sync_demo.kafka.broker_files import free_ports, write_broker_files
from offset_sync_demo.kafka.brokers import EmbeddedCluster, format_storage, new_id
from offset_sync_demo.kafka.clients import admin_of

_FIRST, _REPLICAS = 1, (2, 3)
_WAIT_S = 60


@dataclass(frozen=True)
class ReplicatedCluster:
    """*nodes* by their number."""

    nodes: dict[int, EmbeddedCluster]

    @property
    def first(self) -> EmbeddedCluster:
        """The node that is always there: clients are to begin with it."""
        return self.nodes[_FIRST]

    def create_topic(self, topic: str) -> None:
        """Create a topic with one partition, led by the first of the two that replicate; unclean leaders may follow."""
        config = {"unclean.leader.election.enable": "true"}
        new = NewTopic(topic, num_partitions=1, replica_assignment=[list(_REPLICAS)], config=config)
        admin = admin_of(self.first)
        admin.create_topics([new])[topic].result(_WAIT_S)
        self.wait_for(topic, leader=_REPLICAS[0], in_sync=set(_REPLICAS))

    def wait_for(self, topic: str, leader: int, in_sync: set[int]) -> None:
        """Return once *leader* leads the topic's partition with these replicas in sync."""

        def is_reached() -> bool:
            partitions = admin_of(self.first).list_topics(topic, timeout=_WAIT_S).topics[topic].partitions
            return 0 in partitions and (partitions[0].leader, set(partitions[0].isrs)) == (leader, in_sync)

        until(is_reached, seconds=_WAIT_S)


@contextlib.contextmanager
def replicated_cluster(alias: str, directory: Path) -> Iterator[ReplicatedCluster]:
    """Start the nodes below *directory*; those that still run at the end are killed."""
    numbers = (_FIRST, *_REPLICAS)
    controller_port, *ports = free_ports(1 + len(numbers))
    nodes, cluster_id = dict[int, EmbeddedCluster](), new_id()
    for number, port in zip(numbers, ports, strict=True):
        nodes[number] = EmbeddedCluster(alias, directory.absolute() / f"node-{number}", port)
        settings = {"node.id": str(number), "offsets.topic.num.partitions": "2"}
        if number != _FIRST:
            settings |= {"process.roles": "broker", "listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        write_broker_files(nodes[number].directory, port, controller_port, settings)
        format_storage(nodes[number], cluster_id, number)
    try:
        nodes[_FIRST].start()
        admin_for(nodes[_FIRST]).committed_offsets(["any"])  # has the topic of commits made where it will stay
        for number in _REPLICAS:
            nodes[number].start()
        yield ReplicatedCluster(nodes)
    finally:
        for node in nodes.values():
            node.kill()
