"""What decides where groups are at home: tools, clocks, coordinators, moves."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa

from offset_sync.model.values import TopicPartition
from offset_sync.state.moves import HOME
from offset_sync.tables.catalog import CUTOVERS
from simulation.acting import Acting
from simulation.commit_records import MadeMove, Position

_SKEWS_MS = (0, 3_600_000, -3_600_000, 500, -86_400_000)
_MOST_PARTITIONS = 4


class HomeActions(Acting):
    """Actions of operators."""

    def do_tool(self, group: str, alias: str, place: TopicPartition, chance: float) -> bool:
        """Set an offset: one that the tool keeps, what we wrote there, or what is there."""
        log, where = self.log(alias, place), Position(alias, group, place)
        if self.world.active.get(group) == alias or self.cluster(alias).is_down:
            return False
        value, number = self.world.values.get(where), int(chance * 1000) % 4
        kept = (log.start + log.end) // 2, min(log.start + 2, log.end)
        offset = (*kept, self.world.brought.get(where, kept[0]), value.offset if value is not None else kept[1])[number]
        offset = min(max(offset, log.start), log.end)
        self.world.commit(where, offset, ("offset-sync", "")[int(chance * 10) % 2], log.below[offset])
        return True

    def do_jump(self, alias: str, _place: TopicPartition, chance: float) -> None:
        self.cluster(alias).set_clock(_SKEWS_MS[int(chance * len(_SKEWS_MS))])

    def do_coordinate(self, alias: str, *_more: object) -> None:
        if len(self.cluster(alias).parts) < _MOST_PARTITIONS:
            self.cluster(alias).parts.append([])

    def do_delete_topic(self, alias: str, place: TopicPartition, chance: float) -> bool:
        if self.driver.is_busy or chance > 0.5 or len(self.cluster(alias).partitions) < 2:
            return False
        for group in self.groups.values():
            if group.at == alias:
                group.stop()
        self.cluster(alias).delete_topic(place.topic)
        return True

    def do_cutover(self, name: str, alias: str) -> bool:
        """Move a group to *alias*: it is stopped, what counts is committed there, and the row is written."""
        if self.cluster(alias).is_down or self.driver.is_busy:
            return False
        self.groups[name].stop()
        for topic in dict.fromkeys(place.topic for place in self.shape.places):
            homes = self.driver.knowledge.homes(name, topic, self.driver.now_ms())
            sources = {home.cluster for home in homes if home.cluster}
            if len(sources) == 1 and alias not in sources:
                self._move(name, topic, sources.pop(), alias)
        return True

    def _move(self, name: str, topic: str, source: str, alias: str) -> None:
        values, moves, now_ms = self.world.values, self.world.moves, self.driver.now_ms()
        for place in self.shape.places:
            where = Position(alias, name, place)
            if place.topic == topic and where._replace(cluster=source) in values:
                stands = values[where].offset if where in values else 0
                self.world.commit(where, max(self.oracle.first_unread(where), stands))
        at, number = datetime.fromtimestamp(now_ms / 1000, timezone.utc), str(len(moves))
        moves.append(MadeMove((name, topic), alias, now_ms))
        row = dict.fromkeys(CUTOVERS.names) | {"cutover_id": number, "at": at, "step": HOME, "result": "done"}
        row |= {"group_id": name, "source_cluster": source, "target_cluster": alias, "topic": topic, "stream": topic}
        self.tables.append(CUTOVERS, pa.Table.from_pylist([row], CUTOVERS.arrow_schema))
        self.world.note_home(alias, name, topic)
