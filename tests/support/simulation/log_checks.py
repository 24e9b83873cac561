"""What is asked about logs, and about those of commits, answered by the world: their lives, as a broker tells them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count
from typing import Any

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.tables import MemoryFrame
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.incarnation_log import Cuts
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import (
    ABSENT,
    CONSUMER_OFFSETS,
    ClusterPartition,
    EpochChange,
    ReportedEnd,
    TopicPartition,
)
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.highest_indexed import highest_indexed
from simulation.logs import Position, Record
from simulation.persisted import Persisted
from simulation.skipping import list_group
from simulation.world import GRACE_MS, World

Ends = dict[TopicPartition, ReportedEnd]
Reread = Callable[[Mapping[TopicPartition, tuple[int, int]]], MemoryFrame]


class Epochs:
    """Says where leader epochs ended; each cut of a log begins another."""

    def __init__(self, world: World, alias: str) -> None:
        self._world, self._alias = world, alias

    def ends(self, epochs: Mapping[TopicPartition, EpochChange], _deadline: float = 0) -> Ends:
        logs = {each: self._world.logs[self._alias, each] for each in epochs}
        return {each: ReportedEnd(logs[each].lost_from(epoch.known)) for each, epoch in epochs.items()}

    ends_in_time = ends  # whoever is asked answers


class LogChecks:
    """What the queries of all clusters share, as in one job."""

    def __init__(self, world: World, tables: Any) -> None:
        self._world = world
        self._seen: dict[tuple[str, TopicPartition], tuple[int, int]] = {}
        epochs = {alias: Epochs(world, alias) for alias in world.shape.clusters}
        self._tables, self._cuts = tables, count()
        self._incarnations = IncarnationCheck(tables, epochs, lambda: highest_indexed(tables), GRACE_MS, self._cut)

    def _cut(self, cuts: Cuts) -> Any:
        if "uncut" in self._world.shape.faults and next(self._cuts) % 3 < 2:
            raise ClusterError("", "record_runs cannot be written")
        return self._tables.cut(cuts)

    def may_lose(self, alias: str, place: TopicPartition, on_their_way: Iterable[Record]) -> bool:
        """Return whether the index has looked at a log since its life began and since it was last copied from.

        What is written, copied and lost between two looks goes unnoticed. What is *on_their_way* is copied.
        """
        log, births = self._world.logs[alias, place], self._world.births[place]
        others = [each.entries for (a, p), each in self._world.logs.items() if p == place and a != alias]
        records = [record for each in (*others, on_their_way) for record in each if record is not None]
        copied = [births[record.number] for record in records]
        reach = max([each.offset + 1 for each in copied if (each.cluster, each.life) == (alias, log.life)], default=0)
        life, end = self._seen.get((alias, place), (-1, 0))
        return life == log.life and end >= reach

    def seen_end(self, alias: str, place: TopicPartition) -> int:
        return self._seen.get((alias, place), (-1, 0))[1]

    def of(self, alias: str, reread: Reread) -> LogCheck:
        asked: Any = Asked(self, self, reread)  # type: ignore[arg-type]
        return LogCheck(alias, asked, OriginCheck(alias, list(self._world.shape.clusters)), self._incarnations)

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        return {alias: self._said(alias, partitions) for alias, partitions in wanted.items()}

    def _said(self, alias: str, partitions: Collection[TopicPartition]) -> ClusterMetadata | ClusterError:
        said = self._world.clusters[alias].answer()
        if isinstance(said, ClusterError):
            return said
        # In the order of the world, for that of a set is another one in each process.
        logs = {each: self._world.logs[alias, each] for each in said.ends if each in partitions}
        self._seen |= {(alias, each): (log.life, log.end) for each, log in logs.items()}
        return ClusterMetadata(said.topics, {each: said.ends[each] for each in logs}, said.refused)


class CommitChecks:
    """Asks about the partitions that *alias* has of it."""

    def __init__(self, world: World, alias: str, tables: Any, persisted: Persisted) -> None:
        self._cluster, self._alias, self._persisted = world.clusters[alias], alias, persisted
        incarnations = IncarnationCheck(tables, {alias: self}, self._reaches)
        checkpoint: Any = self
        self.check = CommitLogCheck(alias, checkpoint, self, incarnations)

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return _by_place(self._persisted.of[self._alias].plan.first)

    def end_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return _by_place(self._persisted.of[self._alias].plan.end)

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        cluster = self._cluster
        if cluster.is_down:
            return {self._alias: ClusterError(self._alias, "does not answer")}
        cuts, asked = len(cluster.commit_cuts), sorted(wanted[self._alias])
        ends = {each: MemoryEnds(0, len(cluster.parts[each.partition]), cuts) for each in asked}
        topics = {CONSUMER_OFFSETS: MemoryTopic(f"commits{cluster.commit_topic}", len(cluster.parts))}
        return {self._alias: ClusterMetadata(topics, ends)}

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        ends, cuts = {each: len(self._cluster.parts[each.partition]) for each in epochs}, self._cluster.commit_cuts
        return {each: ReportedEnd(min([ends[each], *cuts[epoch.known :]])) for each, epoch in epochs.items()}

    def _reaches(self) -> dict[ClusterPartition, int]:
        places = [TopicPartition(CONSUMER_OFFSETS, number) for number in range(len(self._cluster.parts))]
        reach = self._persisted.reach
        return {ClusterPartition(self._alias, *each): reach(self._alias, each.partition) for each in places}


def _by_place(offsets: Mapping[int, int]) -> dict[TopicPartition, int]:
    return {TopicPartition(CONSUMER_OFFSETS, number): offset for number, offset in offsets.items()}


def note_forgotten(world: World, persisted: Persisted) -> None:
    """Note which commits a start has dropped: a group that commits such a key again has no earlier commit.

    The driver knows them yet, so a lower commit may count as a rewind or not. What any cluster has is not dropped.
    """
    for where in world.genuine:
        if where.key in persisted.forgotten and not _stands_anywhere(world, persisted, where):
            world.forget_place(where)
            for cluster in world.clusters.values():  # they have expired by then, as they were not written since
                cluster.remove_lists(place=where.place, group=list_group(where.group))


def _stands_anywhere(world: World, persisted: Persisted, where: Position) -> bool:
    for alias, cluster in world.clusters.items():
        position, here = persisted.of[alias].position, where._replace(cluster=alias)
        said = [each for each in cluster.stood if each.where == here]
        read = [each for each in said if each.log_offset < position.get(each.log_partition, 0)]
        if read and read[-1].offset != ABSENT:
            return True
    return False


def lose_commits(world: World, alias: str, chance: float) -> None:
    """Have *alias* lose the end of its log of commits, or all of it; note which records were not read."""
    cluster = world.clusters[alias]
    for where in cluster.lose_commits(int(len(cluster.log) * chance), is_recreated=chance < 0.3):
        said = world.genuine.get(where)
        # Two losses that are noticed as one: the commits between them stay unknown.
        if said is not None and (where in world.said_less or not said.is_heard):
            world.unheard.add(where.of_group)
