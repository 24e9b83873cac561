"""What happens to the jobs: rights, modes, files of the tables, partitions, and offsets that other systems keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from fakes.kept_offsets import NoWait, kept
from fakes.sealed_tables import SealedInMemory
from offset_sync.model.values import State, TopicPartition
from offset_sync.status.kept_offsets import OffsetTranslation
from simulation.actions import SPARED
from simulation.commit_records import Position
from simulation.oracle import Oracle
from simulation.persisted import Persisted
from simulation.shape import Shape
from simulation.sync_driver import SyncDriver
from simulation.world import World

_ELSEWHERE = (TopicPartition("audit", 0), TopicPartition("orders", 7))
"""A topic that is not synced, and a partition that no cluster has."""


class JobActions:
    """Actions in a *world* of *shape*."""

    world: World
    shape: Shape
    driver: SyncDriver
    oracle: Oracle
    tables: SealedInMemory
    persisted: Persisted
    is_waiting: bool

    def do_forbid(self, alias: str, place: TopicPartition, _chance: float) -> str | None:
        """Take away the right to describe a topic, or grant it again."""
        self.world.clusters[alias].forbidden ^= {place.topic}
        return None if self.world.clusters[alias].forbidden else SPARED

    def do_hide_pages(self, *_where: object) -> str | None:
        """Have no sealed file be readable, or all of them again."""
        self.tables.is_unreadable = not self.tables.is_unreadable
        return None if self.tables.is_unreadable else SPARED

    def do_hold_back(self, *_where: object) -> str | None:
        """Restart the job with ``--no-writes``, or without."""
        if self.driver.is_busy or self.is_waiting:
            return SPARED
        self.persisted.is_held_back = not self.persisted.is_held_back
        self.driver.restart()
        return None

    def do_widen(self, alias: str, _place: TopicPartition, chance: float) -> str | None:
        """Add the partition that a cluster does not have yet."""
        return None if chance < 0.5 and widen(self.world, alias) else SPARED

    def do_translate(self, alias: str, _place: TopicPartition, chance: float) -> str | None:
        """Translate an offset of each partition, and of some that there are not; judge what is answered."""
        if self.driver.is_busy or self.is_waiting:
            return SPARED
        others, logs, driver = [each for each in self.shape.clusters if each != alias], self.world.logs, self.driver
        target = others[int(chance * len(others))]
        wanted = [(place, int(chance * (logs[alias, place].end + 1))) for place in self.shape.places]
        clusters: Any = driver.fetcher
        translation = OffsetTranslation(driver.config, driver.state, clusters, NoWait())
        given = kept(*wanted, *((place, 1) for place in _ELSEWHERE), taken_at_ms=driver.now_ms())
        is_lost = self.world.clusters[alias].is_down
        try:
            found = translation.translate((alias, target), given, is_source_lost=is_lost)
        except OSError:
            return SPARED  # a table cannot be read: the command ends with that
        for (place, offset), answer in zip(wanted, found.target_offset.tolist(), strict=False):
            if answer >= 0:
                self._judge(Position(alias, "translate", place), offset, target, answer)
        for number, code in enumerate(found.state.tolist()):
            self.persisted.reached.note(driver.process, ("translate", alias, target, number), State(code).name)
        assert np.array_equal(found.target_offset < 0, found.is_withheld)
        return None

    def _judge(self, source: Position, offset: int, target: str, answer: int) -> None:
        if any(self.world.logs[alias, source.place].life for alias in self.shape.clusters):
            return  # what was read of a log that is no more is unknown here: groups are judged by what they have read
        self.oracle.check_answer(source, self.world.logs[source.of_log].below[offset], target, answer)


def widen(world: World, alias: str) -> bool:
    """Add the partitions that a cluster does not have yet; return whether there was one."""
    cluster = world.clusters[alias]
    lacking = [place for place in world.shape.places if cluster.is_without(place)]
    for place in lacking:
        cluster.partitions[place.topic] += 1
        world.logs[alias, place].is_frozen = False
    return bool(lacking)
