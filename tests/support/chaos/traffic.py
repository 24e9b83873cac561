"""What goes on while things go wrong: producers, groups, and who watches; two clusters that copy each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.groups import Groups, homes
from chaos.observer import Observer
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import Partition, list_partitions
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers

ALIASES = ("dc1", "dc2")
PARTITIONS = {"both": 2, "only-dc1": 1, "only-dc2": 1}
COPIED = {"dc1": ["both", "only-dc1"], "dc2": ["both", "only-dc2"]}
"""What a mirror copies from each cluster."""
SYNCING = "every commit log is read to its end: syncing"
_SHARES = {"only-dc1": {"dc1": 1.0}, "only-dc2": {"dc2": 1.0}}
_RATE = 20.0
_STILL_S = 60.0
"""No fault keeps a cluster from acknowledging records for so long: who produced has stopped, and nothing is tried."""
_BEGAN = time.monotonic()


def say(what: str) -> None:
    """Print a line with the time since the begin."""
    print(f"{time.monotonic() - _BEGAN:6.1f}  {what}", flush=True)


@dataclass
class Traffic:
    """All producers and consumers, and the observer."""

    clusters: Mapping[str, EmbeddedCluster]
    places: list[Partition]
    groups: Groups
    observer: Observer
    producers: Producers
    standstills: list[str] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def between(cls, clusters: Mapping[str, EmbeddedCluster], seed: int) -> Traffic:
        """Create topics, groups and producers; no records are written yet."""
        for topic, count in PARTITIONS.items():
            create_topic(clusters.values(), topic, count)
        places = list_partitions(clusters[ALIASES[0]], PARTITIONS)
        groups = Groups(clusters, homes(ALIASES), places, seed)
        groups.begin()
        observer = Observer(clusters, list(PARTITIONS), groups.homes, groups.is_own, say)
        loads = [TopicLoad(topic, count, _RATE * count) for topic, count in PARTITIONS.items()]
        return cls(clusters, places, groups, observer, Producers(clusters, loads, _SHARES))

    def start(self) -> None:
        """Start all of them."""
        self.producers.start()
        self.observer.start()
        self.groups.start(lambda alias, place: self.observer.contents.log(alias, place).read_to)
        for alias in self.clusters:
            threading.Thread(target=self._watch, args=(alias,), daemon=True).start()

    def stop_writing(self) -> None:
        """Return when no group commits and no record is under way any more."""
        self._is_over.set()
        self.groups.stop()
        self.producers.set_share({})
        for alias in self.clusters:
            self.producers.wait_until_quiet(alias, 60.0)

    def unjudged(self) -> list[str]:
        """Stop to observe, and return what could not be judged."""
        self.observer.stop()
        return [] if self.observer.settle(60.0) else ["some values could not be judged: the clusters did not answer"]

    def told(self) -> str:
        """Return how far it is, in a line."""
        observer, groups = self.observer, self.groups
        return (
            f"{self.producers.count()} records, {groups.commits} commits ({groups.rewinds} rewinds, "
            f"{groups.refused} refused); judged {observer.judged} values in {observer.rounds} rounds "
            f"({observer.put_off} put off), {len(observer.violations)} violations"
            + (f"; waiting for {observer.put_off_because}" if observer.put_off_because else "")
        )

    def _watch(self, alias: str) -> None:
        known = 0
        while not self._is_over.wait(_STILL_S):
            known, before = self.producers.count_at(alias), known
            if known == before:
                self.standstills.append(f"{alias} acknowledged no record for {_STILL_S:.0f} s")
                say(self.standstills[-1])
