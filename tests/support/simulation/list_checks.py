"""After quiet: whatever stands lists nothing that is unread, and a group that moves now reads nothing twice.

But where a group has no offset: its consumers take no list there, and nobody looks after it before they commit.
"""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from offset_sync.model.values import TopicPartition
from simulation.knowledge import UNCERTAIN_MS, Home
from simulation.oracle import Violation
from simulation.skipping import is_skipped, list_at, list_group
from simulation.world import Position

if TYPE_CHECKING:
    from simulation.simulation import Simulation


def check_lists(simulation: Simulation, group: str, place: TopicPartition, homes: Set[Home]) -> None:
    """Raise Violation where a list is not right, whether a consumer would take it now or not, or is not whole."""
    world = simulation.world
    world.memory.heed_all()
    for alias in world.clusters:
        world.memory.check_list(Position(alias, group, place))
    if len(homes) == 1:
        (home,) = homes
        _check_whole(simulation, home, group, place)


def _is_taken_for_ours(simulation: Simulation, source: Position) -> bool:
    """Return whether a commit of a group was taken for ours: then it does not count as its last word."""
    world = simulation.world
    for alias, cluster in world.clusters.items():
        stood = [each for each in cluster.stood if each.where == source._replace(cluster=alias)]
        if any((alias, each.log_partition, each.log_offset) in world.taken_for_ours for each in stood):
            return True
    return False


def _is_lost(simulation: Simulation, where: Position) -> bool:
    """Return whether a list that we have written is no longer there: nobody looks at what stands but at a start."""
    cluster, key = simulation.world.clusters[where.cluster], (list_group(where.group), where.place)
    stands = cluster.group_offsets.get(key)
    return key in cluster.lists and (stands is None or stands.metadata != cluster.lists[key])


def _may_be_back_elsewhere(simulation: Simulation, source: Position, said_ms: int) -> bool:
    """Return whether a group may have gone back at another cluster since it said its last word, for all that is known.

    Of times that were missed, or are uncertain, nothing is known.
    """
    uncertain_ms, errors = simulation.driver.knowledge.uncertain_ms, simulation.world.made_error.values()
    near_ms = max(UNCERTAIN_MS, 2 * max(map(uncertain_ms, simulation.world.clusters))) + 2 * max(errors, default=0)
    rewinds = simulation.world.memory.rewinds(source)
    return any(each.true_ms + near_ms >= said_ms for each in rewinds if each.where != source)


def _check_whole(simulation: Simulation, home: Home, group: str, place: TopicPartition) -> None:
    world = simulation.world
    is_unclear = (group, place) in world.inexact | world.unheard or world.is_index_lacking
    if home.cluster is None or home.is_contested or is_unclear:
        return
    source = Position(home.cluster, group, place)
    genuine, stands = world.genuine.get(source), world.values.get(source)
    if (
        genuine is None
        or stands is None
        or stands.is_ours
        or world.deleted.get(source)
        or source in world.raced | world.gone
    ):
        return
    if _is_taken_for_ours(simulation, source) or _may_be_back_elsewhere(simulation, source, genuine.true_ms):
        return
    for target in world.clusters:
        where, log = source._replace(cluster=target), world.logs[target, place]
        value, found = world.values.get(where), list_at(world, where)
        if target == home.cluster or value is None or not value.is_ours or _is_lost(simulation, where):
            continue
        for offset in range(max(value.offset, log.start), log.end):
            record = log.entries[offset]
            is_known = record is not None and log.known >> offset & 1 and not record.is_odd
            if record is None or not is_known or is_skipped(world, where, found, offset):
                continue
            if simulation.oracle.stands_at(source, record.number) < stands.offset:
                raise Violation(
                    "repeated", f"{source} moves to {target}: record {record.number} at {offset} is read again"
                )
