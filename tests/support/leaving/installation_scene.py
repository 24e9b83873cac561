"""The clusters, the mirror and the installation of ``tests/support/leaving/take_installation.py``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer

from broker.committed_offsets import Partition
from broker.crafted_logs import create_topics, write_log
from broker.installation import Installation
from leaving.kept_installation import ALIASES, BROKER_SETTINGS, CONFIGURATION, KEPT, environment_of
from offset_sync_demo.kafka.brokers import EmbeddedCluster, running_clusters
from offset_sync_demo.kafka.clients import client_options, stable_ends
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.records import record_value

TOPICS = {"orders": 2, "payments": 2, "audit-log": 1, "misc": 1}
ORDERS, PAYMENTS, AUDIT = [("orders", 0), ("orders", 1)], [("payments", 0), ("payments", 1)], ("audit-log", 0)
SIGKILLED = -9
PATIENCE_SECONDS = 1800


@dataclass
class Scene:
    """Two clusters, what mirrors them, and the installation that an earlier commit works on."""

    clusters: dict[str, EmbeddedCluster]
    installation: Installation
    mirrors: list[Mirror] = field(default_factory=list)
    numbers: dict[tuple[str, Partition], int] = field(default_factory=dict)
    began_ms: int = field(default_factory=lambda: int(time.time() * 1000))

    def produce(self, alias: str, topic: str, count: int) -> None:
        """Write *count* records into each partition of a topic."""
        producer = Producer(client_options(self.clusters[alias].bootstrap_servers, linger_ms=1))
        for partition in range(TOPICS[topic]):
            first = self.numbers.get((alias, (topic, partition)), 0)
            self.numbers[alias, (topic, partition)] = first + count
            for number in range(first, first + count):
                value = record_value(alias, topic, partition, number)
                producer.produce(topic, value, partition=partition, timestamp=self.began_ms + 10 * number)
        assert producer.flush(30) == 0

    def produce_malformed(self) -> None:
        """Write a record whose offset header is no number."""
        producer = Producer(client_options(self.clusters["dc1"].bootstrap_servers))
        producer.produce("misc", b"malformed", headers=[("IDC", b"IDC2"), ("Offset", b"12a")])
        assert producer.flush(30) == 0

    def mirror(self) -> None:
        """Copy what is there to the other side."""
        for mirror in self.mirrors:
            mirror.start()
        for mirror in self.mirrors:
            mirror.drain()
            mirror.stop()

    def end(self, alias: str, place: Partition) -> int:
        """Return where a log ends."""
        return stable_ends(self.clusters[alias], [place])[place]

    def run(self, job: str, *options: str, kill_at: str | None = None) -> None:
        """Run a job until it ends, well or where it is told to die."""
        with self.installation.started(job, *options, kill_at=kill_at) as running:
            exit_code = running.process.wait(PATIENCE_SECONDS)
            assert exit_code == (SIGKILLED if kill_at else 0), running.output()[-3000:]

    def is_unfinished(self, query: str) -> bool:
        """Return whether a query's checkpoint has a micro-batch that is planned and not done."""
        folder = self.installation.folder / "checkpoints" / query
        planned, done = (
            max(int(each.name) for each in (folder / name).iterdir() if each.name.isdigit())
            for name in ("offsets", "commits")
        )
        return planned > done


@contextmanager
def opened(folder: Path, before: Path) -> Iterator[Scene]:
    """Start two clusters with topics below *folder*; at dc2 the records of orders have offsets two higher."""
    (folder / CONFIGURATION).write_bytes((KEPT / CONFIGURATION).read_bytes())
    with running_clusters(ALIASES, folder, extra=BROKER_SETTINGS) as clusters:
        os.environ.update(environment_of(folder, clusters))
        for cluster in clusters.values():
            create_topics(cluster, TOPICS)
        write_log(clusters["dc2"], {place: [None, None] for place in ORDERS})
        one, other = clusters.values()
        mirrors = [Mirror(one, other, list(TOPICS)), Mirror(other, one, list(TOPICS), origin_value="IDC2")]
        yield Scene(clusters, Installation(folder, before), mirrors)
