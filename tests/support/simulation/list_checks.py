"""After quiet: no list has an unread record, and a group that moves now reads nothing twice.

But where a group has no offset: its consumers take no list there, and the sync does not maintain it before they commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offset_sync.model.values import TopicPartition
from simulation.commit_records import Position
from simulation.knowledge import UNCERTAIN_MS
from simulation.oracle import Violation
from simulation.skipping import is_skipped, list_at, list_group

if TYPE_CHECKING:
    from simulation.simulation import Simulation


class ListChecks:
    """Checks the lists of a *simulation*."""

    def __init__(self, simulation: Simulation) -> None:
        self.world, self.shape, self.driver = simulation.world, simulation.shape, simulation.driver
        self.oracle, self.persisted = simulation.oracle, simulation.persisted

    def check_lists(self, group: str, place: TopicPartition) -> None:
        """Raise Violation where a list is not right."""
        memory = self.world.memory
        memory.heed((group, place), self.world.clusters, self.world.clock_ms[0])
        for alias in self.world.clusters:
            memory.check_list(Position(alias, group, place))

    def check_whole(self, source: Position, where: Position) -> None:
        """Raise Violation where a group at home at the source would read anything twice that both indexes know."""
        world, stands, value = self.world, self.world.values.get(source), self.world.values.get(where)
        if stands is None or stands.is_ours or value is None or self._is_unclear(source, where):
            return
        if not value.is_ours or not self.persisted.is_last_ours(where):
            return  # a driver that died may leave a write that counts as the group's
        log, found = world.logs[where.of_log], list_at(world, where)
        for offset in range(max(value.offset, log.start), log.end):
            record = log.entries[offset]
            is_known = log.known >> offset & 1 and not is_skipped(world, where, found, offset)
            if record is None or record.is_odd or not is_known:
                continue
            if self.oracle.stands_at(source, record.number) < stands.offset:
                raise Violation("repeated", f"{source} moves to {where}: record {record.number} is read again")

    def _is_unclear(self, source: Position, where: Position) -> bool:
        """Return whether the sync may not know all commits of a group, or its present list."""
        world, (alias, group, place) = self.world, source
        elsewhere = [source._replace(cluster=alias) for alias in world.clusters]
        # A list that we have written is no longer there: the sync reads lists only at a start.
        target, of_list = world.clusters[where.cluster], (list_group(group), place)
        stands = target.group_offsets.get(of_list)
        is_lost = of_list in target.lists and (stands is None or stands.metadata != target.lists[of_list])
        if source not in world.genuine or world.is_index_lacking or not world.gone.isdisjoint(elsewhere) or is_lost:
            return True
        # A commit of the group that was taken for ours does not count as its last word. And a poll that finds the value
        # which we wrote does not tell that the group has committed it since.
        stood = [each for cluster in world.clusters.values() for each in cluster.stood if each.where in elsewhere]
        last = [each for each in stood if each.where == source][-1:]
        is_missed = alias in world.polled and not all(each.is_polled for each in last)
        if is_missed or any(each.is_taken_for_ours for each in stood):
            return True
        # ``cutover`` may have moved the group here after its last commit: a list comes with its next one.
        moves = self.driver.knowledge.moved.get((group, place.topic), [])
        said_ms, _ = self.driver.knowledge.last.get((alias, group, *place), (0, 0))
        was_moved = any(each.cluster == alias and said_ms <= each.at_ms + UNCERTAIN_MS for each in moves)
        return was_moved or self._is_back_elsewhere(source)

    def _is_back_elsewhere(self, source: Position) -> bool:
        """Return whether the driver takes something for a step back elsewhere since the group's last word at home."""
        offsets = self.driver.state.offsets
        (row,) = offsets.ids([source.key]).tolist()
        said_ms = int(offsets.clusters[source.cluster].earliest_ms("genuine", np.array([row]))[0])
        near_ms = max(UNCERTAIN_MS, 2 * max(map(self.driver.knowledge.uncertain_ms, offsets.clusters)))
        others = [each for alias, each in offsets.clusters.items() if alias != source.cluster]
        return any(0 <= each.columns["rewound_ms"][row] >= said_ms - near_ms for each in others)
