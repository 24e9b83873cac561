"""What ``sync_offsets`` asks about a cluster's log of commits, answered by the world."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fakes.clusters import MemoryEnds, MemoryTopic
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, EpochChange, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from simulation.persisted import Persisted
from simulation.world import Position, World

COMMITS = TopicPartition(CONSUMER_OFFSETS, 0)


class CommitChecks:
    """Asks about the one partition that *alias* has of it."""

    def __init__(self, world: World, alias: str, tables: Any, persisted: Persisted) -> None:
        self._cluster, self._alias, self._persisted = world.clusters[alias], alias, persisted
        incarnations = IncarnationCheck(tables, {alias: self}, self._reaches, of_commits=True)
        checkpoint: Any = self
        self.check = CommitLogCheck(alias, checkpoint, self, incarnations)

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        """As a checkpoint says it."""
        return {COMMITS: self._persisted.planned(self._alias)[0]}

    def end_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        """As a checkpoint says it."""
        return {COMMITS: self._persisted.planned(self._alias)[1]}

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        """Say which topic it is, and where it ends."""
        cluster = self._cluster
        if cluster.is_down:
            return {self._alias: ClusterError(self._alias, "does not answer")}
        ends = MemoryEnds(0, len(cluster.log), len(cluster.commit_cuts))
        topics = {CONSUMER_OFFSETS: MemoryTopic(f"commits{cluster.commit_topic}")}
        return {self._alias: ClusterMetadata(topics, {COMMITS: ends} if wanted[self._alias] else {})}

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, int]:
        """Say where leader epochs ended."""
        cluster = self._cluster
        return {each: min([len(cluster.log), *cluster.commit_cuts[epoch.known :]]) for each, epoch in epochs.items()}

    def _reaches(self) -> dict[ClusterPartition, int]:
        return {ClusterPartition(self._alias, *COMMITS): self._persisted.reach(self._alias)}


def note_forgotten(world: World, persisted: Persisted) -> None:
    """Note which commits a start has dropped: whoever commits such a key again begins anew, and goes back to nothing.

    The driver that has just started knows them yet, so what is lower may count as a rewind or not. What stood anywhere
    as far as its log was read must not have been dropped.
    """
    for where, said in world.genuine.items():
        if (where.group, *where.place) in persisted.forgotten and not _stands_anywhere(world, persisted, where):
            world.forgotten[where] = said
            world.rewound_ms.pop(where, None)


def _stands_anywhere(world: World, persisted: Persisted, where: Position) -> bool:
    for alias, cluster in world.clusters.items():
        read = cluster.stood[: persisted.position(alias)]
        last = next((value for each, value, _ in reversed(read) if each == where._replace(cluster=alias)), None)
        if last is not None:
            return True
    return False


def lose_commits(world: World, persisted: Persisted, alias: str, chance: float) -> None:
    """Have *alias* lose the end of its log of commits, or all of it; note what nobody has read of it."""
    cluster = world.clusters[alias]
    for where in cluster.lose_commits(int(len(cluster.log) * chance), is_anew=chance < 0.3):
        said = world.genuine.get(where)
        # Two losses that are noticed as one: of what stood between them nobody knows.
        is_hidden = where in world.said_less
        if said is not None and (
            is_hidden or (where.group, *where.place, said.offset, said.at_ms) not in persisted.heard(alias)
        ):
            world.unheard.add((where.group, where.place))
