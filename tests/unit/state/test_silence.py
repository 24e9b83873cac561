"""Asking all clusters at once: what is silent is waited for once, then asked in the background until it answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping

from fakes.clusters import MemoryEnds, MemoryTopic
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, MetadataFetcher
from tools.waiting import until

ORDERS = [TopicPartition("orders", 0)]
RETRY_S = 0.02


class Cluster:
    """A cluster that may be silent, and the names of the threads that ask it."""

    def __init__(self) -> None:
        self.is_down, self.asked_by, self.returned = True, list[str](), list[bool]()
        self.fetcher = MetadataFetcher({"x": self}, 1, lambda: self.returned.append(True), RETRY_S)

    def describe(self, _topics: object, _deadline: float) -> Mapping[str, MemoryTopic]:
        self.asked_by.append(threading.current_thread().name)
        if self.is_down:
            raise ClusterError("x", "does not answer")
        return {"orders": MemoryTopic("id")}

    def ends(self, partitions: Collection[TopicPartition], _deadline: float) -> Mapping[TopicPartition, MemoryEnds]:
        return dict.fromkeys(partitions, MemoryEnds(0, 9))

    def known(self) -> set[TopicPartition]:
        """Return the partitions that are told of."""
        said = self.fetcher.fetch(["x"], ORDERS)["x"]
        return set(said.ends) if isinstance(said, ClusterMetadata) else set()


def test_a_silent_cluster_is_waited_for_once_and_asked_in_the_background_until_it_answers() -> None:
    x = Cluster()
    for _ in range(3):
        assert x.known() == set()
    until(lambda: len(x.asked_by) > 5)
    assert (sum(not name.startswith("silent") for name in x.asked_by), x.returned) == (1, [])
    x.is_down = False
    until(lambda: x.known() == set(ORDERS))
    until(lambda: x.returned == [True])
    asked = len(x.asked_by)
    time.sleep(5 * RETRY_S)
    assert len(x.asked_by) == asked, "nothing is silent any more"
