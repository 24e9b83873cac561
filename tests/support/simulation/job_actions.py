"""What happens to the jobs: rights, modes, files of the tables, partitions, and offsets that other systems keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from fakes.kept_offsets import NoWait, kept
from offset_sync.model.values import State, TopicPartition
from offset_sync.status.kept_offsets import OffsetTranslation
from simulation.acting import Acting
from simulation.commit_records import Position
from simulation.world import World

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
        """Restart the job with ``--no-writes``, or without."""
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
        clusters: Any = driver.fetcher
        translation = OffsetTranslation(driver.config, driver.state, clusters, NoWait())
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
