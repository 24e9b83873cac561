"""Seeds tried one after the other until one breaks the promise."""

from __future__ import annotations

from protections.entry import Seed
from simulation.garbage import seldom_collected, take_apart
from simulation.one_thread import without_threads
from simulation.oracle import Violation
from simulation.simulation import simulate


def first_failure(first: Seed, seeds: int = 1) -> str | None:
    """Return the message of the first failure of so many *seeds* from *first* on; None if they have none."""
    with without_threads(), seldom_collected():
        for number in range(first.seed, first.seed + seeds):
            simulation = simulate(number, first.faults, steps=first.steps)
            try:
                simulation.run()
            except Violation as problem:
                return f"seed {number}: {problem}"
            take_apart(simulation)
    return None
