"""Clusters between which a real MirrorMaker 2 copies, their groups, and what is right by the records' values alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install, until
from chaos.contents import Log, Reading
from offset_sync_demo.kafka.clients import Headers, client_options, read_partition, stable_ends
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.records import record_id, record_value, value_id
from offset_sync_demo.load.stamping_mirror import StampingMirror
from offset_sync_demo.load.workload import Producers

_SOME = 50
SHARES = {"tail": 1.0, "middle": 0.5, "early": 0.1}
"""The groups of each cluster, and how much of every log they have read whenever they commit."""


@dataclass
class MirroredSite:
    """Everything that runs; *partitions* by topic. A record is known by what its producer wrote into the value."""

    clusters: Clusters
    mirror: StampingMirror
    producers: Producers
    installation: Installation
    partitions: Mapping[str, int]
    homes: dict[str, str] = field(default_factory=dict)

    @property
    def places(self) -> list[Partition]:
        """Return every partition."""
        return [(topic, number) for topic, count in self.partitions.items() for number in range(count)]

    def ends(self) -> dict[str, dict[Partition, int]]:
        """Return how far each log reaches at each cluster."""
        return {alias: stable_ends(cluster, self.places) for alias, cluster in self.clusters.items()}

    def logs(self) -> dict[tuple[str, Partition], Log]:
        """Return ids and offsets of all records at every cluster; a log is read to its present end."""
        found = dict[tuple[str, Partition], Log]()
        for alias, ends in self.ends().items():
            for place, end in ends.items():
                log = found[alias, place] = Log()
                for record in read_partition(self.clusters[alias], place):
                    log.add(record.offset(), value_id(record.value() or b""))
                log.read_to = max(log.read_to, end)
        return found

    def come_to_rest(self, seconds: float = 240.0) -> None:
        """Stop to produce, and return when every cluster has every record."""
        self.producers.set_share({})
        for alias in self.clusters:
            self.producers.wait_until_quiet(alias, 60.0)
        self.mirror.drain(seconds)

    def wait_for_copies(self) -> None:
        """Return when each cluster has more copies than now."""
        before = self._copies()
        until(lambda: all(now > was + _SOME for now, was in zip(self._copies(), before)), 240.0)

    def _copies(self) -> list[int]:
        logs = self.logs().items()
        held = {alias: sum(len(log.ids) for (at, _), log in logs if at == alias) for alias in self.clusters}
        return [held[alias] - self.producers.count_at(alias) for alias in self.clusters]

    def commit(self) -> None:
        """Let the groups of every cluster commit what they have read by now."""
        for alias, ends in self.ends().items():
            groups = {f"{name}-{alias}": share for name, share in SHARES.items()}
            self.homes |= dict.fromkeys(groups, alias)
            commit(
                self.clusters[alias],
                {g: {p: int(end * share) for p, end in ends.items()} for g, share in groups.items()},
            )

    def held(self, alias: str) -> dict[str, dict[Partition, int]]:
        """Return what every group has committed at a cluster."""
        found = committed(self.clusters[alias], self.homes)
        return {group: {place: each.offset for place, each in by.items()} for group, by in found.items()}

    def sync(self) -> None:
        """Run both jobs to the end of what is there; a cluster that has just come back may have to be asked again."""
        failures = self.installation.index() and self.installation.index()
        assert (failures, self.installation.sync()) == ([], [])

    def compared(self) -> list[tuple[str, int, int]]:
        """Return, for each group, target and partition, its name, the offset there, and the right one by values.

        The offsets are read first: logs read afterwards can only be longer, and so can the right answers.
        """
        held = {alias: self.held(alias) for alias in self.clusters}
        logs, found = self.logs(), []
        for group, home in self.homes.items():
            for target in self.clusters.keys() - {home}:
                for place in self.places:
                    reading = Reading(logs[home, place], logs[target, place])
                    right = int(reading.exact([held[home][group][place]])[0])
                    found.append((f"{group} {place} at {target}", held[target].get(group, {}).get(place, 0), right))
        return found

    def twice(self) -> dict[tuple[str, Partition], int]:
        """Return how many records occur more than once, at each cluster."""
        return {where: len(log.ids) - len(log.first) for where, log in self.logs().items()}

    def lost(self) -> int:
        """Return how many acknowledged records are not at every cluster."""
        logs, count = self.logs(), 0
        for source in self.clusters:
            for place, records in self.producers.acknowledged(source).items():
                count += sum(len(set(records.ids.tolist()) - logs[each, place].first.keys()) for each in self.clusters)
        return count

    def produce_leaked(self, alias: str, place: Partition, number: int, headers: Headers) -> int:
        """Produce one record with headers of something that its producer has read; return who it is."""
        producer = Producer(client_options(self.clusters[alias].bootstrap_servers))
        topic, partition = place
        producer.produce(topic, record_value(alias, topic, partition, number), partition=partition, headers=headers)
        assert producer.flush(60) == 0
        return record_id(alias, number)


@contextlib.contextmanager
def mirrored_site(
    clusters: Clusters, loads: Sequence[TopicLoad], folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[MirroredSite]:
    """Mirror the topics of *loads* between all *clusters*, produced nowhere yet; *settings* are MirrorMaker's."""
    partitions = {load.topic: load.partitions for load in loads}
    for each in clusters.values():
        create_topics(each, partitions)
    mirror = StampingMirror(clusters, {alias: list(partitions) for alias in clusters}, folder / "mirror")
    mirror.start(settings)
    producers = Producers(clusters, list(loads), {topic: {} for topic in partitions})
    producers.start()
    installation = install(folder / "jobs", clusters, list(partitions), mirror={"place_header": "Place"})
    yield MirroredSite(clusters, mirror, producers, installation, partitions)
    mirror.kill()
    producers.stop(2.0)
