"""What decides where groups are at home: readers without membership, tools, clocks, coordinators, moves."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa

from fakes.tables import MemoryTables
from offset_sync.model.values import TopicPartition
from offset_sync.state.moves import HOME
from offset_sync.tables.catalog import CUTOVERS
from simulation.actions import SPARED
from simulation.commit_records import MadeMove, Position
from simulation.consumers import Group
from simulation.oracle import Oracle
from simulation.readers import Twin
from simulation.shape import Shape
from simulation.sync_driver import SyncDriver
from simulation.world import World

_SKEWS_MS = (0, 3_600_000, -3_600_000, 500, -86_400_000)
_MOST_PARTITIONS = 4


class HomeActions:
    """Actions in a *world* of *shape*."""

    world: World
    shape: Shape
    groups: dict[str, Group]
    twins: dict[tuple[str, str], Twin]
    driver: SyncDriver
    oracle: Oracle
    tables: MemoryTables

    def do_silence(self, tenths: int) -> None:
        self.do_wait(self.shape.silence_ms * tenths // 10)

    def do_wait(self, milliseconds: int) -> None:
        raise NotImplementedError

    def do_twin_poll(self, group: str, alias: str, place: TopicPartition, count: int) -> None:
        self.twins[group, alias].poll(place, count)

    def do_twin_commit(self, group: str, alias: str, place: TopicPartition, _count: int) -> None:
        self.twins[group, alias].commit(place)

    def do_twin_restart(self, group: str, alias: str) -> None:
        self.twins[group, alias].restart()

    def do_tool(self, group: str, alias: str, place: TopicPartition, chance: float) -> str | None:
        """Set an offset: one that the tool keeps, what we wrote there, or what is there."""
        cluster, log, where = self.world.clusters[alias], self.world.logs[alias, place], Position(alias, group, place)
        if self.world.active.get(group) == alias or cluster.is_down:
            return SPARED
        value, number = self.world.values.get(where), int(chance * 1000) % 4
        kept = (log.start + log.end) // 2, min(log.start + 2, log.end)
        offset = (*kept, self.world.brought.get(where, kept[0]), value.offset if value is not None else kept[1])[number]
        offset = min(max(offset, log.start), log.end)
        self.world.commit(where, offset, ("offset-sync", "")[int(chance * 10) % 2], log.below[offset])
        return None

    def do_jump(self, alias: str, _place: TopicPartition, chance: float) -> None:
        self.world.clusters[alias].set_clock(_SKEWS_MS[int(chance * len(_SKEWS_MS))])

    def do_coordinate(self, alias: str, _place: TopicPartition, chance: float) -> None:
        cluster = self.world.clusters[alias]
        if len(cluster.parts) < _MOST_PARTITIONS:
            cluster.parts.append([])

    def do_delete_topic(self, alias: str, place: TopicPartition, chance: float) -> str | None:
        cluster = self.world.clusters[alias]
        if self.driver.is_busy or chance > 0.5 or len(cluster.partitions) < 2:
            return SPARED
        for group in self.groups.values():
            if group.at == alias:
                group.stop()
        cluster.delete_topic(place.topic)
        return None

    def do_cutover(self, name: str, alias: str) -> str | None:
        """Move a group to *alias*: it is stopped, what counts is committed there, and the row is written."""
        if self.world.clusters[alias].is_down or self.driver.is_busy:
            return SPARED
        self.groups[name].stop()
        for topic in dict.fromkeys(place.topic for place in self.shape.places):
            homes = self.driver.knowledge.homes(name, topic, self.driver.now_ms())
            sources = {home.cluster for home in homes} - {None}
            if len(sources) != 1 or alias in sources:
                continue
            source = sources.pop()
            self._bring(name, topic, source or "", alias)
            self._write_down(name, topic, source or "", alias)
        return None

    def _bring(self, name: str, topic: str, source: str, alias: str) -> None:
        for place in self.shape.places:
            where, value = Position(alias, name, place), self.world.values.get(Position(source, name, place))
            if place.topic != topic or value is None:
                continue
            stands = self.world.values.get(where)
            wanted = self.oracle.first_unread(where)
            self.world.commit(where, max(wanted, stands.offset if stands is not None else 0), "", 0)

    def _write_down(self, name: str, topic: str, source: str, alias: str) -> None:
        moves, now_ms = self.world.moves, self.driver.now_ms()
        at, number = datetime.fromtimestamp(now_ms / 1000, timezone.utc), str(len(moves))
        moves.append(MadeMove((name, topic), alias, now_ms))
        row = dict.fromkeys(CUTOVERS.names) | {"cutover_id": number, "at": at, "step": HOME, "result": "done"}
        row |= {"group_id": name, "source_cluster": source, "target_cluster": alias, "topic": topic, "stream": topic}
        self.tables.append(CUTOVERS, pa.Table.from_pylist([row], CUTOVERS.arrow_schema))
        self.world.note_home(alias, name, topic)
