"""Asking all clusters at once: what is silent is waited for once, then asked in the background until it answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from fakes.clusters import MemoryEnds, MemoryTopic
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, MetadataFetcher

ORDERS = [TopicPartition("orders", number) for number in range(3)]
RETRY_S = 0.02


@dataclass
class Cluster:
    """A cluster that may be silent as a whole, or about some partitions; it remembers who asked it for what."""

    is_down: bool = False
    silent: set[TopicPartition] = field(default_factory=set)
    topics: dict[str, MemoryTopic] = field(default_factory=lambda: {"orders": MemoryTopic("id", 3)})
    meeting: threading.Barrier | None = None
    takes_s: float = 0.0
    left_s: float = 0.0
    askers: list[str] = field(default_factory=list)
    waited_about: list[set[TopicPartition]] = field(default_factory=list)

    def describe(self, topics: Collection[str], deadline: float) -> Mapping[str, MemoryTopic]:
        self.askers.append(threading.current_thread().name)
        time.sleep(self.takes_s)
        if self.meeting:
            self.meeting.wait(60)
        if self.is_down:
            raise ClusterError("x", "does not answer")
        return self.topics

    def ends(self, partitions: Collection[TopicPartition], deadline: float) -> Mapping[TopicPartition, MemoryEnds]:
        if not threading.current_thread().name.startswith("silent"):
            self.waited_about.append(set(partitions))
            self.left_s = deadline
        return {place: MemoryEnds(0, 9) for place in partitions if place not in self.silent}

    @property
    def waited_for(self) -> int:
        """How often another client than the background has asked."""
        return sum(not name.startswith("silent") for name in self.askers)


@dataclass
class Site:
    """A cluster x that is asked, and how often it was told that something answers again."""

    x: Cluster = field(default_factory=Cluster)
    returned: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        clusters = {"x": self.x, "y": Cluster()}
        self.fetcher = MetadataFetcher(clusters, 3, lambda: self.returned.append(True), RETRY_S)

    def fetch(self) -> ClusterMetadata | ClusterError:
        looks = self.fetcher.fetch(["x", "y"], ORDERS)
        assert isinstance(looks["y"], ClusterMetadata)
        return looks["x"]

    def known(self) -> set[TopicPartition]:
        look = self.fetch()
        return set(look.ends) if isinstance(look, ClusterMetadata) else set()


def until(is_so: Callable[[], object]) -> None:
    ends_at = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


def test_the_deadline_is_that_of_all_questions_to_a_cluster_together() -> None:
    x = Cluster(takes_s=0.2)
    MetadataFetcher({"x": x}, deadline_seconds=3).fetch(["x"], ORDERS)
    assert x.left_s <= 2.8
    MetadataFetcher({"x": x}, deadline_seconds=0.1).fetch(["x"], ORDERS)
    assert 0 < x.left_s <= 0.1


def test_a_silent_cluster_is_waited_for_once_and_asked_in_the_background_until_it_answers() -> None:
    site = Site(Cluster(is_down=True))
    for _ in range(3):
        assert isinstance(site.fetch(), ClusterError)
    assert site.x.waited_for == 1
    until(lambda: len(site.x.askers) > 5)
    assert site.returned == []
    site.x.is_down = False
    until(lambda: site.known() == set(ORDERS))
    until(lambda: site.returned == [True])
    asked = len(site.x.askers)
    time.sleep(5 * RETRY_S)
    assert len(site.x.askers) == asked, "nothing is silent any more"


def test_partitions_of_a_silent_leader_are_left_out_until_they_answer_and_the_others_told_meanwhile() -> None:
    site = Site(Cluster(silent={ORDERS[1], ORDERS[2]}))
    for _ in range(3):
        assert site.known() == {ORDERS[0]}
    site.x.silent = {ORDERS[2]}
    until(lambda: site.known() == {ORDERS[0], ORDERS[1]})
    site.x.silent = set()
    until(lambda: site.known() == set(ORDERS))
    until(lambda: len(site.returned) == 2)
