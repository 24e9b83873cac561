"""Asking all clusters at once: one that is silent costs one wait, and no answer of another."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, MetadataFetcher

ORDERS = [TopicPartition("orders", number) for number in range(3)]


@dataclass
class Answering:
    """A cluster with two partitions of orders; it remembers what it was asked."""

    error: ClusterError | None = None
    topics: dict[str, MemoryTopic] = field(default_factory=lambda: {"orders": MemoryTopic("id", 2)})
    asked: list[object] = field(default_factory=list)
    meeting: threading.Barrier | None = None
    takes_s: float = 0.0
    left_s: float | None = None

    def describe(self, topics: Collection[str], deadline: float) -> Mapping[str, MemoryTopic]:
        self.asked.append((list(topics), deadline))
        time.sleep(self.takes_s)
        if self.meeting:
            self.meeting.wait(60)
        if self.error:
            raise self.error
        return self.topics

    def ends(self, partitions: Collection[TopicPartition], deadline: float) -> Mapping[TopicPartition, MemoryEnds]:
        self.asked.append(list(partitions))
        self.left_s = deadline
        return {place: MemoryEnds(0, 9) for place in partitions}


def test_every_cluster_says_what_it_knows_and_is_asked_only_for_partitions_it_has() -> None:
    x, y = Answering(), Answering(topics={})
    looks = MetadataFetcher({"x": x, "y": y}, deadline_seconds=3).fetch(["x", "y"], [*ORDERS, TopicPartition("pay", 0)])
    assert looks["x"] == ClusterMetadata(x.topics, {place: MemoryEnds(0, 9) for place in ORDERS[:2]})
    assert looks["y"] == ClusterMetadata({}, {})
    assert x.asked == [(["orders", "pay"], 3), ORDERS[:2]]


def test_the_deadline_is_that_of_all_questions_to_a_cluster_together() -> None:
    x = Answering()
    MetadataFetcher({"x": x}, deadline_seconds=3).fetch(["x"], ORDERS)
    assert x.left_s is not None
    assert x.left_s <= 3
    x.takes_s = 0.2
    MetadataFetcher({"x": x}, deadline_seconds=3).fetch(["x"], ORDERS)
    assert x.left_s <= 2.8
    MetadataFetcher({"x": x}, deadline_seconds=0.1).fetch(["x"], ORDERS)
    assert 0 < x.left_s <= 0.1


def test_clusters_are_asked_side_by_side() -> None:
    meeting = threading.Barrier(2)
    clusters = {alias: Answering(meeting=meeting) for alias in ("x", "y")}
    assert all(
        isinstance(look, ClusterMetadata) for look in MetadataFetcher(clusters).fetch(["x", "y"], ORDERS).values()
    )


def test_an_error_that_is_not_the_clusters_is_not_swallowed() -> None:
    class Broken(Answering):
        def ends(self, partitions: Collection[TopicPartition], deadline: float) -> Mapping[TopicPartition, MemoryEnds]:
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        MetadataFetcher({"x": Broken()}).fetch(["x"], ORDERS)


def test_no_cluster_is_asked_if_none_is_named() -> None:
    assert MetadataFetcher({}).fetch([], ORDERS) == {}


def test_a_log_end_is_zero_for_a_log_that_does_not_exist_and_unknown_without_an_answer() -> None:
    refused = {"secret": ClusterError("x", "may not be described")}
    look = ClusterMetadata({"orders": MemoryTopic("id", 2)}, {ORDERS[0]: MemoryEnds(0, 9)}, refused)
    assert look.log_end(ORDERS[0]) == 9
    assert look.log_end(ORDERS[1]) is None, "no leader"
    assert look.log_end(TopicPartition("secret", 0)) is None
    assert look.log_end(ORDERS[2]) == look.log_end(TopicPartition("pay", 0)) == 0
