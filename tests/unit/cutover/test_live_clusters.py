"""Queries to the two clusters of a move: streams of groups, records missing at one, and the backlog."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryIndex, MemoryTopic
from fakes.live_tables import LiveTables
from fakes.reconciler_site import Site, config_of
from offset_sync.cutover.live_clusters import IndexBacklog, LiveClusters
from offset_sync.cutover.plan import Direction
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata


def test_a_group_that_is_not_listed_is_unknown_where_it_has_offsets() -> None:
    site, live = Site(config_of(["X", "Y"])), SimpleNamespace()
    for group in ("listed", "empty", "hidden", "deleted"):
        site.commit("X", group, 5)
    site.clusters["X"].forget("deleted", TopicPartition("orders", 0))
    site.read_all()
    listed = {"listed": True, "empty": False}
    live.clusters, live.state = SimpleNamespace(admins=site.admins, listed_groups=lambda _alias: listed), site.state
    live.keys_of = LiveTables(site).keys_of
    both: Any = live
    clusters = LiveClusters(site.config, both, Direction("X", "Y"), site.writers["Y"], site.reconciliations.append)
    groups = ["listed", "empty", "hidden", "deleted", "elsewhere"]
    found = clusters.activities("X", groups)
    assert not isinstance(found, ClusterError)
    assert [found[each].value for each in groups] == ["active", "inactive", "unknown", "inactive", "inactive"]
    assert {each.value for each in clusters.activities("Y", groups[1:]).values()} == {"active", "inactive"}  # type: ignore[union-attr]
    live.clusters.listed_groups = lambda _alias: ClusterError("X", "no answer")
    assert isinstance(clusters.activities("X", groups), ClusterError)


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


def test_streams_of_both_clusters_are_told_with_whether_the_group_has_committed_them_at_the_target() -> None:
    site = Site(config_of(["X", "Y"]))
    for alias, group, topic in [("X", "g", "orders"), ("Y", "g", "pay-eu"), ("X", "g", "pay-us"), ("Y", "g", "pay-us")]:
        site.commit(alias, group, 5, TopicPartition(topic, 0))
    site.commit("Y", "others", 5)
    site.read_all()
    live: Any = LiveTables(site)
    clusters = LiveClusters(site.config, live, Direction("X", "Y"), site.writers["Y"], site.reconciliations.append)
    assert clusters.committed_streams(["g"]) == {"g": {"orders": False, "pay-eu": True, "pay-us": True}}


def test_unread_records_missing_at_the_target_are_listed() -> None:
    site = Site(config_of(["X", "Y"]))
    site.put(log("X", "X0:2 Y0:2 X4:9"))
    site.put(log("Y", "Y0:2 X0:2 X4:6"))
    site.commit("X", "readers", 5)
    site.commit("X", "others", 8)
    site.read_all()
    live: Any = LiveTables(site)
    clusters = LiveClusters(site.config, live, Direction("X", "Y"), site.writers["Y"], site.reconciliations.append)
    found = clusters.never_mirrored(["readers", "others"])
    assert {group: [each.split()[:2] for each in told] for group, told in found.items()} == {
        "readers": [["orders-0", "X"]],
        "others": [["orders-0", "X"]],
    }
    assert "6" in found["readers"][0]
    assert "8" in found["others"][0]


INTERNAL = (
    "app-by-key-repartition",
    "app-join-subscription-registration-topic",
    "app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
)


def test_an_application_has_offsets_of_a_repartition_topic_at_the_source_included_or_not() -> None:
    site = Site(config_of(["X", "Y"]))
    for number, topic in enumerate(INTERNAL):
        site.commit("X", f"app-{number}", 5, TopicPartition(topic, 0))
    site.commit("X", "deleted", 5, TopicPartition(INTERNAL[0], 0))
    site.clusters["X"].forget("deleted", TopicPartition(INTERNAL[0], 0))
    site.commit("X", "other", 5, TopicPartition("repartition", 0))
    site.commit("Y", "there", 5, TopicPartition(INTERNAL[0], 0))
    site.read_all()
    live: Any = LiveTables(site)
    clusters = LiveClusters(site.config, live, Direction("X", "Y"), site.writers["Y"], site.reconciliations.append)
    wanted = {f"app-{number}": topic for number, topic in enumerate(INTERNAL)}
    assert clusters.internal_topics([*wanted, "deleted", "other", "there"]) == wanted
    assert clusters.internal_topics(["app-1", "other"]) == {"app-1": INTERNAL[1]}
