"""Seeds one after the other, for hours if one likes: ``python -m simulation.soak --hours 2``."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import count
from multiprocessing import get_context
from typing import NamedTuple

from simulation.histories import failure, shrunk, take_apart, told
from simulation.one_thread import without_threads
from simulation.reached import WANTED
from simulation.shape import LISTS, ON_REQUEST
from simulation.simulation import Simulation, simulate
from simulation.world import STARTED_MS

ENOUGH = 1_000
"""So many seeds have to come to every state and outcome."""
_HOUR_MS = 3_600_000
_NONE = Counter[str]()


class Tried(NamedTuple):
    """How many seeds and steps were tried, in how many ms of the world's clock, and with how many faults of each kind.

    *reached* counts words of WANTED, *failure* is the history of the first failure.
    """

    seeds: int = 0
    steps: int = 0
    world_ms: int = 0
    faults: Counter[str] = _NONE
    reached: Counter[str] = _NONE
    failure: str = ""

    @property
    def missed(self) -> list[str]:
        """What enough seeds have not come to; nothing where there were too few."""
        return sorted(WANTED - self.reached.keys()) if self.seeds >= ENOUGH else []

    def told(self) -> str:
        faults = ", ".join(f"{fault} {times:,}" for fault, times in self.faults.most_common())
        words = f"{len(WANTED & self.reached.keys())} of {len(WANTED)} states and outcomes, alone and with a crash"
        hours = f"{self.world_ms / _HOUR_MS:,.0f} hours of the simulation's clock"
        lines = [f"{self.seeds:,} seeds, {self.steps:,} steps, {hours}", f"{self.faults.total():,} faults: {faults}"]
        return "\n".join([*lines, f"reached: {words}", *(f"NOT REACHED: {word}" for word in self.missed)])


def both(one: Tried, other: Tried) -> Tried:
    return Tried(*(mine + its for mine, its in zip(one, other, strict=True)))


def tried(seconds: float, seeds: Iterable[int]) -> Tried:
    """Try *seeds* for at most *seconds*, up to the first that fails."""
    result, ends_at = Tried(), time.monotonic() + seconds
    with without_threads():
        for seed in seeds:
            if time.monotonic() > ends_at or result.failure:
                break
            simulation = simulate(seed, asked_for(seed))
            result = both(result, _of(simulation, seed))
            take_apart(simulation)
    return result


def _of(simulation: Simulation, seed: int) -> Tried:
    """Let everything happen in one world."""
    problem, shape, words = failure(simulation), simulation.shape, ""
    if problem:
        actions = shrunk(shape, simulation.actions[: simulation.next], problem.kind)
        words = f"seed {seed}: {problem}\n{told(shape, actions)}"
    world_ms, reached = simulation.world.clock_ms[0] - STARTED_MS, Counter(simulation.persisted.reached.words)
    return Tried(1, simulation.next, world_ms, simulation.faults, reached, words)


def asked_for(seed: int) -> frozenset[str]:
    """Return for every other seed a fault that needs a world of its own, and for a third of all read lists."""
    number, is_with_one = divmod(seed, 2)
    turn, which = divmod(number, len(ON_REQUEST))
    return frozenset([ON_REQUEST[which]] * is_with_one + [LISTS] * (turn % 3 == 2))


def main() -> int:
    """Try fresh seeds; print a short history of the first that fails, and what enough of them have not come to."""
    parser = argparse.ArgumentParser(description="Simulate until something is lost.")
    parser.add_argument("--hours", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--seed", type=int, help="the first seed (default: a random one)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    options = parser.parse_args()
    first = random.randrange(1_000_000_000) if options.seed is None else options.seed
    print(f"from seed {first}", flush=True)
    began, found, workers = time.monotonic(), Tried(), options.workers
    seeds = [count(first + number, workers) for number in range(workers)]
    with get_context("spawn").Pool(workers) as pool:  # which ends the others with the first failure
        for each in pool.imap_unordered(partial(tried, options.hours * 3600), seeds):
            found = both(found, each)
            if each.failure:
                break
    a_minute = round(60 * found.steps / (time.monotonic() - began))
    print(found.failure or "nothing lost", found.told(), f"{a_minute:,} steps a minute", sep="\n")
    return 1 if found.failure or found.missed else 0


if __name__ == "__main__":
    sys.exit(main())
