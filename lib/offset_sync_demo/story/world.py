"""The clusters and clients of the demo: two clusters mirrored both ways, four topics under load, seven groups."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters, start_clusters
from offset_sync_demo.kafka.clients import Partition, list_partitions, stable_ends
from offset_sync_demo.kafka.log_dump import dump_all_ids
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.group_member import ReaderOptions
from offset_sync_demo.load.group_reader import GroupReader, stop_readers
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.records import Records
from offset_sync_demo.load.stamping_mirror import StampingMirror
from offset_sync_demo.load.workload import Producers

PARTITIONS = 4
DC1, DC2 = "dc1", "dc2"
HALF, FIRST, SECOND, IDLE = {DC1: 0.5, DC2: 0.5}, {DC1: 1.0}, {DC2: 1.0}, dict[str, float]()
_BURST = 20.0
"""Factor of the rate at first: it makes the backlog of the lagging groups."""


@dataclass(frozen=True)
class DemoTopic:
    """A topic, and the clusters that produce into it under load."""

    load: TopicLoad
    shares: Mapping[str, float]
    shape: str


TOPICS = {
    topic.load.topic: topic
    for topic in (
        DemoTopic(TopicLoad("orders", PARTITIONS, 120.0), HALF, "50:50"),
        DemoTopic(TopicLoad("payments", PARTITIONS, 80.0), FIRST, "100:0"),
        DemoTopic(TopicLoad("ledger", PARTITIONS, 40.0, is_transactional=True), FIRST, "100:0, transactions"),
        DemoTopic(TopicLoad("archive", PARTITIONS, 20.0), IDLE, "idle"),
    )
}


@dataclass(frozen=True)
class DemoGroup:
    """A consumer group: its topic, its protocol, and whether it lags at dc1."""

    group_id: str
    topic: str
    protocol: Literal["classic", "consumer"] = "classic"
    lags: bool = False


GROUPS = (
    DemoGroup("billing", "orders"),
    DemoGroup("shipping", "orders", "consumer"),
    DemoGroup("reports", "orders", lags=True),
    DemoGroup("fraud", "payments", "consumer"),
    DemoGroup("rebates", "payments", lags=True),
    DemoGroup("audit", "ledger"),
    DemoGroup("search", "archive"),
)


@dataclass
class World:
    """Clusters, the mirror, producers, and the readers of each cluster."""

    clusters: dict[str, EmbeddedCluster]
    mirror: StampingMirror
    producers: Producers
    readers: dict[str, dict[str, GroupReader]] = field(default_factory=dict)

    @classmethod
    def start(cls, directory: Path) -> World:
        """Start two brokers, create the topics on both, and start MirrorMaker 2 both ways; it copies a little later."""
        clusters = start_clusters([DC1, DC2], directory, offsets_partitions=4)
        try:
            for name in TOPICS:
                create_topic(clusters.values(), name, PARTITIONS)
            mirror = StampingMirror(clusters, {alias: list(TOPICS) for alias in clusters}, directory / "mirror")
            mirror.start()
        except BaseException:
            kill_clusters(clusters)
            raise
        loads = [topic.load for topic in TOPICS.values()]
        return cls(clusters, mirror, Producers(clusters, loads, dict.fromkeys(TOPICS, IDLE)))

    def produce_backlog(self, seconds: float) -> None:
        """Produce a backlog for *seconds*, then continue at the normal rate."""
        for name, topic in TOPICS.items():
            shares = topic.shares or FIRST
            self.producers.set_share({alias: share * _BURST for alias, share in shares.items()}, [name])
        self.producers.start()
        time.sleep(seconds)
        self.share_as_planned()

    def share_as_planned(self) -> None:
        """Produce every topic at the clusters of its shape."""
        for name, topic in TOPICS.items():
            self.producers.set_share(topic.shares, [name])

    def produce_only_at(self, alias: str) -> None:
        """Continue at one cluster with its own share; the other one is dead."""
        for name, topic in TOPICS.items():
            self.producers.set_share({alias: topic.shares.get(alias, 0.0)}, [name])

    def produce_all_at(self, alias: str) -> None:
        """Send every producer to one cluster; the idle topic stays idle."""
        self.producers.set_share({alias: 1.0}, [name for name, topic in TOPICS.items() if topic.shares])

    def start_readers(self, alias: str, *, stop_lagging_at: int | None = None, reset: str = "earliest") -> None:
        """Start every group at *alias*; a lagging one reads no further than *stop_lagging_at* in each partition."""
        readers = {}
        for group in GROUPS:
            stop_at = {(group.topic, p): stop_lagging_at for p in range(PARTITIONS)} if stop_lagging_at else {}
            options = ReaderOptions(
                protocol=group.protocol,
                commit_interval=0.5,
                stop_at=stop_at if group.lags else {},
                reset=reset,  # type: ignore[arg-type]
            )
            readers[group.group_id] = GroupReader(self.clusters[alias], group.group_id, [group.topic], options)
        for reader in readers.values():
            reader.start()
        self.readers[alias] = readers

    def stop_readers(self, alias: str, *, kill: bool, timeout: float = 15.0) -> None:
        """Stop every group at *alias*, with a final commit unless *kill*."""
        stop_readers(list(self.readers[alias].values()), kill=kill, timeout=timeout)

    def ends(self, alias: str) -> dict[Partition, int]:
        """Return how far a read_committed consumer can read each partition."""
        cluster = self.clusters[alias]
        return stable_ends(cluster, list_partitions(cluster, list(TOPICS)))

    def read_to(self, alias: str, ends: Mapping[Partition, int], timeout: float = 60.0) -> None:
        """Return when every group at *alias* has read its topic to *ends*."""
        for group in GROUPS:
            mine = {place: end for place, end in ends.items() if place[0] == group.topic}
            self.readers[alias][group.group_id].wait_until(mine, timeout)

    def log_ids(self, alias: str) -> dict[Partition, Records]:
        """Return the ids and offsets of all records at *alias*."""
        cluster = self.clusters[alias]
        return dump_all_ids(cluster, list_partitions(cluster, list(TOPICS)))

    def stop(self) -> None:
        """Stop all that still runs."""
        self.producers.stop(2.0)
        self.mirror.kill()
        for alias in self.readers:
            self.stop_readers(alias, kill=True, timeout=1.0)
        kill_clusters(self.clusters)
