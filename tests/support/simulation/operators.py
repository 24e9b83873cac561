"""What operators do to groups, clocks, coordinators and topics, and to the jobs: rights, modes, files of the tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fakes.kept_offsets import kept
from offset_sync.model.values import State, TopicPartition
from offset_sync.offsets.kept_offsets import OffsetTranslation
from offset_sync.state.cluster_clock import to_datetime
from offset_sync.state.moves import HOME
from offset_sync.tables.catalog import CUTOVERS
from simulation.logs import MadeMove, Position
from simulation.producers import Acting
from simulation.world import World

_SKEWS_MS = (0, 3_600_000, -3_600_000, 500, -86_400_000)
_MOST_PARTITIONS = 2
"""Given more a second time, a group may come back to a partition that holds an older commit of it: not promised."""


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
        at, number = to_datetime(now_ms), str(len(moves))
        moves.append(MadeMove((name, topic), alias, now_ms))
        row = dict.fromkeys(CUTOVERS.names) | {"cutover_id": number, "at": at, "step": HOME, "result": "done"}
        row |= {"group_id": name, "source_cluster": source, "target_cluster": alias, "topic": topic, "stream": topic}
        self.tables.append(CUTOVERS, pa.Table.from_pylist([row], CUTOVERS.arrow_schema))
        self.world.note_home(alias, name, topic)


_ELSEWHERE = (TopicPartition("audit", 0), TopicPartition("orders", 7))
"""A topic that is not synced, and a partition that no cluster has."""


class JobActions(Acting):
    """Actions of who runs the jobs."""

    def do_forbid(self, alias: str, place: TopicPartition, _chance: float) -> bool:
        """Take away the right to describe a topic, or grant it again."""
        self.cluster(alias).forbidden ^= {place.topic}
        return bool(self.cluster(alias).forbidden)

    def do_hide_pages(self, *_where: object) -> bool:
        """Have no sealed file be readable, or all of them again."""
        self.tables.is_unreadable = not self.tables.is_unreadable
        return self.tables.is_unreadable

    def do_hold_back(self, *_where: object) -> bool:
        """Restart the job with ``--dry-run``, or without."""
        if self.is_under_way:
            return False
        self.persisted.is_held_back = not self.persisted.is_held_back
        return self.restart()

    def do_widen(self, alias: str, _place: TopicPartition, chance: float) -> bool:
        """Add the partition that a cluster does not have yet."""
        return chance < 0.5 and widen(self.world, alias)

    def do_translate(self, alias: str, _place: TopicPartition, chance: float) -> bool:
        """Translate an offset of each partition, and of some that there are not; judge what is answered."""
        if self.is_under_way:
            return False
        driver, target = self.driver, self.other(alias, chance)
        wanted = [(place, int(chance * (self.log(alias, place).end + 1))) for place in self.shape.places]
        clusters: Any = driver
        translation = OffsetTranslation(driver.config, driver.state, clusters)
        given = kept(*wanted, *((place, 1) for place in _ELSEWHERE), taken_at_ms=driver.now_ms())
        try:
            found = translation.translate((alias, target), given, is_source_lost=self.cluster(alias).is_down)
        except OSError:
            return False  # a table cannot be read: the command ends with that
        for (place, offset), answer in zip(wanted, found.target_offset.tolist(), strict=False):
            # What was read of a log that is no more is unknown here: groups are judged by what they have read.
            if answer >= 0 and not any(self.log(each, place).life for each in self.shape.clusters):
                source = Position(alias, "translate", place)
                self.oracle.check_answer(source, self.log(alias, place).below[offset], target, answer)
        for number, code in enumerate(found.state.tolist()):
            self.persisted.reached.note(driver.process, ("translate", alias, target, number), State(code).name)
        assert np.array_equal(found.target_offset < 0, found.is_withheld)
        return True


def widen(world: World, alias: str) -> bool:
    """Add the partitions that a cluster does not have yet; return whether there was one."""
    cluster = world.clusters[alias]
    lacking = [place for place in world.shape.places if cluster.is_without(place)]
    for place in lacking:
        cluster.partitions[place.topic] += 1
        world.logs[alias, place].is_frozen = False
    return bool(lacking)
