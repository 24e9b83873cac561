"""After quiet: no list has an unread record, and a group that moves now reads nothing twice.

But where a group has no offset: its consumers take no list there, and the sync does not maintain it before they commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offset_sync.model.values import GroupPartition, TopicPartition
from simulation.knowledge import UNCERTAIN_MS
from simulation.oracle import Violation
from simulation.skipping import is_skipped, list_at, list_group
from simulation.world import Position

if TYPE_CHECKING:
    from simulation.simulation import Simulation


def check_lists(simulation: Simulation, group: str, place: TopicPartition) -> None:
    """Raise Violation where a list is not right."""
    memory = simulation.world.memory
    memory.heed_all()
    for alias in simulation.world.clusters:
        memory.check_list(Position(alias, group, place))


def check_whole(simulation: Simulation, source: Position, target: str) -> None:
    """Raise Violation where a group that is at home at the source would read anything twice that both indexes know."""
    world, where = simulation.world, source._replace(cluster=target)
    stands, value, log = world.values.get(source), world.values.get(where), world.logs[target, source.place]
    if stands is None or stands.is_ours or value is None or _is_unclear(simulation, source, where):
        return
    if not value.is_ours or not simulation.persisted.told.get(
        (target, GroupPartition(where.group, *where.place)), True
    ):
        return  # a driver that died may leave a write that counts as the group's
    found = list_at(world, where)
    for offset in range(max(value.offset, log.start), log.end):
        record = log.entries[offset]
        is_known = record is not None and log.known >> offset & 1 and not record.is_odd
        if record is None or not is_known or is_skipped(world, where, found, offset):
            continue
        if simulation.oracle.stands_at(source, record.number) < stands.offset:
            raise Violation("repeated", f"{source} moves to {target}: record {record.number} at {offset} is read again")


def _is_unclear(simulation: Simulation, source: Position, where: Position) -> bool:
    """Return whether the sync may not know all commits of a group, or its present list."""
    world, genuine = simulation.world, simulation.world.genuine.get(source)
    is_gone = any(source._replace(cluster=alias) in world.gone for alias in world.clusters)
    if genuine is None or world.is_index_lacking or is_gone or _is_lost(simulation, where):
        return True
    is_unknown = _is_taken_for_ours(simulation, source) or _is_back_elsewhere(simulation, source)
    return is_unknown or _was_moved_since(simulation, source)


def _was_moved_since(simulation: Simulation, source: Position) -> bool:
    """Return whether ``cutover`` may have moved a group here after its last commit: a list comes with its next one."""
    moves = simulation.driver.knowledge.moved.get((source.group, source.place.topic), [])
    said_ms, _ = simulation.driver.knowledge.last.get((source.cluster, source.group, *source.place), (0, 0))
    return any(each.cluster == source.cluster and said_ms <= each.at_ms + UNCERTAIN_MS for each in moves)


def _is_taken_for_ours(simulation: Simulation, source: Position) -> bool:
    """Return whether a commit of a group was taken for ours: then it does not count as its last word.

    A poll that finds the value which we wrote does not tell that the group has committed it since.
    """
    world = simulation.world
    for alias, cluster in world.clusters.items():
        stood = [each for each in cluster.stood if each.where == source._replace(cluster=alias)]
        places = [(alias, each.log_partition, each.log_offset) for each in stood]
        if not world.taken_for_ours.isdisjoint(places):
            return True
        is_polled = alias == source.cluster and alias in world.polls.clusters
        if is_polled and not world.polls.found.issuperset(places[-1:]):
            return True
    return False


def _is_lost(simulation: Simulation, where: Position) -> bool:
    """Return whether a list that we have written is no longer there: the sync reads lists only at a start."""
    cluster, key = simulation.world.clusters[where.cluster], (list_group(where.group), where.place)
    stands = cluster.group_offsets.get(key)
    return key in cluster.lists and (stands is None or stands.metadata != cluster.lists[key])


def _is_back_elsewhere(simulation: Simulation, source: Position) -> bool:
    """Return whether the driver believes that a group has gone back at another cluster since its last word at home.

    What a driver before has written may count as such, and times may be missed: then a list is missing.
    """
    offsets = simulation.driver.state.offsets
    (row,) = offsets.ids([GroupPartition(source.group, *source.place)]).tolist()
    said_ms = int(offsets.clusters[source.cluster].earliest_ms("genuine", np.array([row]))[0])
    near_ms = max(UNCERTAIN_MS, 2 * max(map(simulation.driver.knowledge.uncertain_ms, offsets.clusters)))
    others = [each for alias, each in offsets.clusters.items() if alias != source.cluster]
    return any(0 <= each.columns["rewound_ms"][row] >= said_ms - near_ms for each in others)
