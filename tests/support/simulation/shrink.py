"""A history that fails, made short: actions are left out as long as it goes on failing in the same way."""

from __future__ import annotations

import time
from collections.abc import Sequence

from simulation.actions import Action
from simulation.oracle import Violation
from simulation.shape import Shape
from simulation.simulation import Simulation


def failure(shape: Shape, actions: Sequence[Action]) -> Violation | None:
    """Return how the history breaks the promise, None if it does not."""
    try:
        Simulation(shape, actions).run()
    except Violation as problem:
        return problem
    return None


def shrunk(shape: Shape, actions: Sequence[Action], seconds: float = 20.0) -> list[Action]:
    """Return a part of *actions* that breaks the promise in the same way, and of which no single one can be left out.

    Larger parts are left out first; what is left after *seconds* may still be longer than need be.
    """
    ends_at = time.monotonic() + seconds
    kept = list(actions)
    simulation = Simulation(shape, actions)
    try:
        simulation.run()
    except Violation as problem:
        kind = problem.kind
        kept = kept[: simulation.next]
    size = max(1, len(kept) // 4)
    while time.monotonic() < ends_at:
        fewer, at = False, 0
        while at < len(kept) and time.monotonic() < ends_at:
            tried = kept[:at] + kept[at + size :]
            found = failure(shape, tried)
            if found is not None and found.kind == kind:
                kept, fewer = tried, True
            else:
                at += size
        if size == 1 and not fewer:
            break
        size = max(1, size // 2)
    return kept
