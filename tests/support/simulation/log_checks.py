"""What index drivers ask about logs: answered by the world, with lives of logs as a broker tells them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from fakes.tables import MemoryFrame
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import EpochChange, ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.highest_indexed import highest_indexed
from simulation.logs import Record
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
        self._incarnations = IncarnationCheck(tables, epochs, lambda: highest_indexed(tables), GRACE_MS)

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
        """Return the check of one cluster's query."""
        asked: Any = Asked(self, self, reread)  # type: ignore[arg-type]
        return LogCheck(alias, asked, OriginCheck(alias, list(self._world.shape.clusters)), self._incarnations)

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        """Say what each cluster says of its partitions."""
        return {alias: self._said(alias, partitions) for alias, partitions in wanted.items()}

    def _said(self, alias: str, partitions: Collection[TopicPartition]) -> ClusterMetadata | ClusterError:
        said = self._world.clusters[alias].answer()
        if isinstance(said, ClusterError):
            return said
        # In the order of the world, for that of a set is another one in each process.
        logs = {each: self._world.logs[alias, each] for each in said.ends if each in partitions}
        self._seen |= {(alias, each): (log.life, log.end) for each, log in logs.items()}
        return ClusterMetadata(said.topics, {each: said.ends[each] for each in logs}, said.refused)
