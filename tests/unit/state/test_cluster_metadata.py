"""Asking all clusters at once: one that is silent costs one wait, and nobody else's answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state import cluster_metadata
from offset_sync.state.cluster_metadata import SILENCE_SECONDS, ClusterMetadata, MetadataFetcher

ORDERS = [TopicPartition("orders", number) for number in range(3)]


@dataclass
class Answering:
    """A cluster with two partitions of orders; it remembers what it was asked."""

    error: ClusterError | None = None
    topics: dict[str, MemoryTopic] = field(default_factory=lambda: {"orders": MemoryTopic("id", 2)})
    asked: list[object] = field(default_factory=list)
    meeting: threading.Barrier | None = None

    def describe(self, topics: Collection[str], deadline: float) -> Mapping[str, MemoryTopic]:
        self.asked.append((list(topics), deadline))
        if self.meeting:
            self.meeting.wait(60)
        if self.error:
            raise self.error
        return self.topics

    def ends(self, partitions: Collection[TopicPartition], deadline: float) -> Mapping[TopicPartition, MemoryEnds]:
        self.asked.append(list(partitions))
        return {place: MemoryEnds(0, 9) for place in partitions}


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [1000.0]
    monkeypatch.setattr(cluster_metadata, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def test_every_cluster_says_what_it_knows_and_is_asked_only_for_partitions_it_has() -> None:
    x, y = Answering(), Answering(topics={})
    looks = MetadataFetcher({"x": x, "y": y}, deadline_seconds=3).fetch(["x", "y"], [*ORDERS, TopicPartition("pay", 0)])
    assert looks["x"] == ClusterMetadata(x.topics, {place: MemoryEnds(0, 9) for place in ORDERS[:2]})
    assert looks["y"] == ClusterMetadata({}, {})
    assert x.asked == [(["orders", "pay"], 3), ORDERS[:2]]


def test_clusters_are_asked_side_by_side() -> None:
    meeting = threading.Barrier(2)
    clusters = {alias: Answering(meeting=meeting) for alias in ("x", "y")}
    assert all(
        isinstance(look, ClusterMetadata) for look in MetadataFetcher(clusters).fetch(["x", "y"], ORDERS).values()
    )


def test_a_silent_cluster_is_an_answer_of_its_own_and_is_left_alone_for_a_while(now: list[float]) -> None:
    silent, fine = Answering(ClusterError("x", "does not answer")), Answering()
    asking = MetadataFetcher({"x": silent, "y": fine})
    for _ in range(3):
        looks = asking.fetch(["x", "y"], ORDERS)
        assert looks["x"] is silent.error
        assert isinstance(looks["y"], ClusterMetadata)
    assert (len(silent.asked), len(fine.asked)) == (1, 6)
    now[0] += SILENCE_SECONDS
    asking.fetch(["x"], ORDERS)
    assert len(silent.asked) == 2


def test_a_cluster_that_comes_back_is_asked_every_time_again(now: list[float]) -> None:
    cluster = Answering(ClusterError("x", "does not answer"))
    asking = MetadataFetcher({"x": cluster})
    asking.fetch(["x"], ORDERS)
    cluster.error = None
    now[0] += SILENCE_SECONDS
    for _ in range(2):
        assert isinstance(asking.fetch(["x"], ORDERS)["x"], ClusterMetadata)
    cluster.error = ClusterError("x", "again")
    assert asking.fetch(["x"], ORDERS)["x"] is cluster.error


def test_each_silence_is_said_once_in_the_log(now: list[float], caplog: pytest.LogCaptureFixture) -> None:
    cluster = Answering(ClusterError("x", "does not answer"))
    asking = MetadataFetcher({"x": cluster})
    with caplog.at_level(logging.ERROR):
        for _ in range(4):
            asking.fetch(["x"], ORDERS)
            now[0] += SILENCE_SECONDS
        assert [record.getMessage() for record in caplog.records] == ["clusters.x: does not answer"]
        cluster.error = None
        asking.fetch(["x"], ORDERS)
        cluster.error = ClusterError("x", "silent again")
        asking.fetch(["x"], ORDERS)
    assert [record.getMessage() for record in caplog.records][1:] == ["clusters.x: silent again"]


def test_an_error_that_is_not_the_clusters_is_not_swallowed() -> None:
    class Broken(Answering):
        def ends(self, partitions: Collection[TopicPartition], deadline: float) -> Mapping[TopicPartition, MemoryEnds]:
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        MetadataFetcher({"x": Broken()}).fetch(["x"], ORDERS)


def test_nobody_is_asked_when_nobody_is_named() -> None:
    assert MetadataFetcher({}).fetch([], ORDERS) == {}


def test_where_a_log_ends_is_zero_for_what_does_not_exist_and_unknown_for_what_nobody_can_tell() -> None:
    refused = {"secret": ClusterError("x", "may not be described")}
    look = ClusterMetadata({"orders": MemoryTopic("id", 2)}, {ORDERS[0]: MemoryEnds(0, 9)}, refused)
    assert look.log_end(ORDERS[0]) == 9
    assert look.log_end(ORDERS[1]) is None, "no leader"
    assert look.log_end(TopicPartition("secret", 0)) is None
    assert look.log_end(ORDERS[2]) == look.log_end(TopicPartition("pay", 0)) == 0
