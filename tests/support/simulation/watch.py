"""What a driver looks at beside the logs of commits: members, moves, and partitions of ``__consumer_offsets``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from offset_sync.jobs.watches import PartitionWatch
from offset_sync.kafka.requests import TopicInfo
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.held_positions import note_members
from offset_sync.state.moves import Moves
from simulation.index_driver import PatchedTime
from simulation.knowledge import Moved
from simulation.world import SimCluster

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver

_MEMBERS_MS, _MOVES_MS = 10_000, 1_000


class _Admin:
    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster

    def describe(self, topics: Sequence[str]) -> Mapping[str, TopicInfo]:
        if self._cluster.is_down:
            raise ClusterError(self._cluster.alias, "does not answer")
        return {CONSUMER_OFFSETS: TopicInfo(f"commits{self._cluster.commit_topic}", len(self._cluster.parts))}


class Watch:
    """What the job looks at, by the clock of a world; it answers for the clusters' members too."""

    def __init__(self, driver: SyncDriver) -> None:
        self._driver, world = driver, driver.world
        self._clusters = world.clusters
        tables: Any = driver.tables
        admins: Any = {alias: _Admin(cluster) for alias, cluster in self._clusters.items()}
        self._table = Moves(tables)
        self._partitions = PartitionWatch(driver.state, admins, driver.lives, lambda: None, self._start)
        self._is_live, self._moves = False, 0  # so many moves were noticed
        self._members_ms = self._moves_ms = 0
        self._read: dict[str, int] = {}  # so many partitions the query of a cluster reads

    def _ask_members(self) -> None:
        """Ask every cluster who is there."""
        active, knowledge = self._driver.world.active, self._driver.knowledge
        here = {a: frozenset(group for group, at in active.items() if at == a) for a in self._clusters}
        knowledge.note_members(
            {a: here[a] for a, cluster in self._clusters.items() if not cluster.is_down}, self._driver.now_ms()
        )
        no_answer = ClusterError("any", "does not answer")
        told = {a: knowledge.members.get(a) for a in self._clusters}
        found = {a: no_answer if each is None else dict.fromkeys(each, True) for a, each in told.items()}
        note_members(self._driver.state, found)

    def begin(self) -> None:
        """Look at what decides from the start."""
        self._follow_moves()
        self._is_live = True
        self._ask_members()

    def look(self) -> None:
        now_ms = self._driver.world.clock_ms[0]
        if now_ms - self._moves_ms >= _MOVES_MS:
            self._moves_ms = now_ms
            self._follow_moves()
        if now_ms - self._members_ms >= _MEMBERS_MS:
            self._members_ms = now_ms
            self._ask_members()
            if "coordinators" in self._driver.world.shape.faults:
                self._date()
                self._partitions.note_growth()

    def ends(self, alias: str) -> list[int]:
        """Return where the partitions end that the query reads; it is started where it was not yet."""
        if alias not in self._read and not self._clusters[alias].is_down:
            self._start(alias)
        return [len(part) for part in self._clusters[alias].parts[: self._read.get(alias, 0)]]

    def _start(self, alias: str) -> None:
        self._date()
        self._partitions.note_partitions(alias)
        self._driver.batches[alias].note_start()
        self._driver.ingesters[alias].judge.note_start()
        self._read[alias] = len(self._clusters[alias].parts)
        self._clusters[alias].move_coordinators()  # the brokers are restarted later than more partitions are seen

    def _date(self) -> None:
        PatchedTime.now_ms = self._driver.now_ms()

    def _follow_moves(self) -> None:
        """Follow moves, and note when they were noticed, in the order in which they were made, whatever the table says.

        One from before the start has its own time.
        """
        self._table.follow(self._driver.state)
        driver, now_ms, moves = self._driver, self._driver.now_ms(), self._driver.world.moves
        fresh = moves[self._moves :]
        for move, later in zip(fresh, reversed(range(len(fresh))), strict=True):
            noticed_ms = [now_ms, now_ms - later]  # a millisecond apart
            if self._is_live:
                move.noticed_ms += noticed_ms
            at_ms = noticed_ms if self._is_live else [min(move.at_ms, now_ms)]
            driver.knowledge.moved[move.stream] = [Moved(move.cluster, each) for each in at_ms]
        self._moves = len(moves)
