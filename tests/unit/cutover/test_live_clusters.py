"""What a planned move waits for: whatever may still be unread is waited for, and what does not exist is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fakes.clusters import MemoryEnds, MemoryTopic
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata

READ, LED, LEADERLESS, BEYOND = (TopicPartition("orders", number) for number in range(4))
GONE, REFUSED = TopicPartition("gone", 0), TopicPartition("secret", 0)
PLACES = [READ, LED, LEADERLESS, BEYOND, GONE, REFUSED]


def site_of(answer: ClusterMetadata | ClusterError) -> LiveClusters:
    """A site whose clusters give *answer*; the index has read nine records of each partition."""
    site: Any = LiveClusters.__new__(LiveClusters)
    site._marked = {}
    index = SimpleNamespace(log=lambda *_: SimpleNamespace(frontier=9))
    site._state = SimpleNamespace(look=lambda aliases, _: dict.fromkeys(aliases, answer), index=index)
    found: LiveClusters = site
    return found


def test_records_below_the_ends_and_partitions_of_which_nobody_can_tell_are_waited_for() -> None:
    refused = {"secret": ClusterError("x", "may not be described")}
    look = ClusterMetadata({"orders": MemoryTopic("id", 3)}, {READ: MemoryEnds(0, 9), LED: MemoryEnds(0, 14)}, refused)
    found = site_of(look)._unread_records("x", PLACES)
    assert found == {"records of x to index": 5, "partitions of x whose end nobody can tell": 2}


def test_ends_that_are_known_are_not_asked_for_again_while_the_source_grows() -> None:
    site = site_of(ClusterMetadata({"orders": MemoryTopic("id", 3)}, {LED: MemoryEnds(0, 14)}))
    assert site._unread_records("x", [LED])["records of x to index"] == 5
    grown = ClusterMetadata({"orders": MemoryTopic("id", 3)}, {LED: MemoryEnds(0, 99)})
    site._state.look = lambda aliases, _: dict.fromkeys(aliases, grown)  # type: ignore[method-assign, assignment]
    assert site._unread_records("x", [LED])["records of x to index"] == 5
    site.mark_ends()
    assert site._unread_records("x", [LED])["records of x to index"] == 90


def test_a_silent_cluster_is_waited_for() -> None:
    found = site_of(ClusterError("x", "is down"))._unread_records("x", [READ, LED])
    assert found == {"partitions of x, which does not answer": 2}
