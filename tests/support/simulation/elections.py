"""Elections of a leader without records that only consumers have read: no index, and no mirror."""

from __future__ import annotations

from collections.abc import Sequence

from simulation.commit_records import Of
from simulation.consumers import Group
from simulation.shape import Shape
from simulation.world import World


def names_epochs(shape: Shape, number: int) -> bool:
    """Return whether the group of this *number* says which leader it has read from: without elections one in two."""
    return "elected" in shape.faults or number % 2 == len(shape.routes) // 2 % 2


def elect(world: World, groups: Sequence[Group], seen_end: int, of_log: Of, chance: float) -> None:
    """Elect a leader without the records written since the log ended at *seen_end*, and continue from there.

    The *groups* at that cluster had read to the end; they commit that before they ask the new leader for anything, and
    some end then: others notice as soon as they read on.
    """
    alias, place = of_log
    log, here = world.logs[of_log], [group for group in groups if group.at == alias]
    for _ in range(1 + int(chance * 3)):
        world.produce(alias, place)
    for group in here:
        group.poll(place, log.end)
    lost = log.end - max(log.start, seen_end)
    log.cut(log.end - lost)
    for _ in range(lost + int(chance * 3)):
        world.produce(alias, place)
    for group in here:
        group.commit(place)
        if chance < 0.5:
            group.stop()
