"""Seeds tried one after the other until one breaks the promise."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple
from unittest.mock import patch

from simulation.garbage import take_apart
from simulation.one_thread import without_threads
from simulation.oracle import Violation
from simulation.simulation import simulate


class Remedy(NamedTuple):
    """What closes a hole: taken out by *patches*, the *faults* have to break the promise; *seed* is where to begin.

    Each seed has so many *steps*.
    """

    faults: frozenset[str]
    patches: tuple[tuple[str, Any], ...] = ()
    seed: int = 0
    steps: int = 400


def first_failure(remedy: Remedy, seeds: int) -> tuple[int, str] | None:
    """Return seed and message of the first failure without *remedy*; None if so many *seeds* have none."""
    with without_threads(), ExitStack() as stack:
        for name, instead in remedy.patches:
            stack.enter_context(patch(name, instead))
        for seed in range(remedy.seed, remedy.seed + seeds):
            simulation = simulate(seed, remedy.faults, steps=remedy.steps)
            try:
                simulation.run()
            except Violation as problem:
                return seed, str(problem)
            take_apart(simulation)
    return None
