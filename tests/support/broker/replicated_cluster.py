"""A cluster of three nodes: the first is the controller and holds the commits, the others have topics."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from broker.committed_offsets import admin_for
from offset_sync_demo.kafka.broker_files import free_ports, write_broker_files
from offset_sync_demo.kafka.brokers import EmbeddedCluster, format_storage, new_id

_FIRST, _REPLICAS = 1, (2, 3)


@dataclass(frozen=True)
class ReplicatedCluster:
    """*nodes* by their number."""

    nodes: dict[int, EmbeddedCluster]

    @property
    def first(self) -> EmbeddedCluster:
        """The node that is always there: clients are to begin with it."""
        return self.nodes[_FIRST]


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
