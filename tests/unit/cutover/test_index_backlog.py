"""What a planned move waits for: whatever may still be unread is waited for, and what does not exist is not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryIndex, MemoryTopic
from offset_sync.cutover.live_clusters import IndexBacklog
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata

READ, LED, LEADERLESS, BEYOND = (TopicPartition("orders", number) for number in range(4))
GONE, REFUSED = TopicPartition("gone", 0), TopicPartition("secret", 0)
PARTITIONS = [READ, LED, LEADERLESS, BEYOND, GONE, REFUSED]


@dataclass
class Clusters:
    """Every cluster gives the same *answer*."""

    answer: ClusterMetadata | ClusterError

    def fetch(
        self, aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        return dict.fromkeys(aliases, self.answer)

    def active_groups(self, alias: str) -> Collection[str]:
        return []


def backlog_of(clusters: Clusters) -> IndexBacklog:
    """The index has read nine records of each partition."""
    index = MemoryIndex()
    for each in PARTITIONS:
        index.extend(log("x", "x0:9"), each)
    return IndexBacklog(clusters, index)


def test_records_below_the_ends_and_partitions_whose_end_is_unknown_are_waited_for() -> None:
    refused = {"secret": ClusterError("x", "may not be described")}
    topics, ends = {"orders": MemoryTopic("id", 3)}, {READ: MemoryEnds(0, 9), LED: MemoryEnds(0, 14)}
    backlog = backlog_of(Clusters(ClusterMetadata(topics, ends, refused)))
    found = backlog.unread("x", PARTITIONS)
    assert found == {"records of x to index": 5, "partitions of x whose end is unknown": 2}


def test_ends_that_are_known_are_not_asked_for_again_while_the_source_grows() -> None:
    clusters = Clusters(ClusterMetadata({"orders": MemoryTopic("id", 3)}, {LED: MemoryEnds(0, 14)}))
    backlog = backlog_of(clusters)
    assert backlog.unread("x", [LED])["records of x to index"] == 5
    clusters.answer = ClusterMetadata({"orders": MemoryTopic("id", 3)}, {LED: MemoryEnds(0, 99)})
    assert backlog.unread("x", [LED])["records of x to index"] == 5
    backlog.forget_ends()
    assert backlog.unread("x", [LED])["records of x to index"] == 90


def test_a_silent_cluster_is_waited_for() -> None:
    backlog = backlog_of(Clusters(ClusterError("x", "is down")))
    assert backlog.unread("x", [READ, LED]) == {"partitions of x, which does not answer": 2}
