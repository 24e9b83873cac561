"""Seeds one after the other, for hours if one likes: ``python -m simulation.soak --hours 2``."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from multiprocessing import active_children, get_context

from simulation.garbage import seldom_collected, take_apart
from simulation.one_thread import without_threads
from simulation.oracle import Violation
from simulation.reached import WANTED
from simulation.report import told
from simulation.shape import LISTS, ON_REQUEST
from simulation.shrink import shrunk
from simulation.simulation import Simulation, simulate
from simulation.world import STARTED_MS

ENOUGH = 1_000
"""So many seeds have to come to every state and outcome."""
_HOUR_MS = 3_600_000


@dataclass
class Tried:
    """How many seeds and steps were tried, in how many ms of the world's clock, and with how many faults of each kind.

    *reached* are words of WANTED, *failure* is the history of the first failure.
    """

    seeds: int = 0
    steps: int = 0
    world_ms: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    reached: frozenset[str] = frozenset()
    failure: str | None = None

    def __add__(self, other: Tried) -> Tried:
        """Return both together."""
        return Tried(
            self.seeds + other.seeds,
            self.steps + other.steps,
            self.world_ms + other.world_ms,
            self.faults + other.faults,
            self.reached | other.reached,
            self.failure or other.failure,
        )

    @property
    def missed(self) -> list[str]:
        """What enough seeds have not come to; nothing where there were too few."""
        return sorted(WANTED - self.reached) if self.seeds >= ENOUGH else []

    def told(self) -> str:
        """Return the figures, for people."""
        faults = ", ".join(f"{fault} {times:,}" for fault, times in self.faults.most_common())
        words = f"{len(WANTED & self.reached)} of {len(WANTED)} states and outcomes, alone and with a crash"
        hours = f"{self.world_ms / _HOUR_MS:,.0f} hours of the simulation's clock"
        lines = [f"{self.seeds:,} seeds, {self.steps:,} steps, {hours}", f"{self.faults.total():,} faults: {faults}"]
        return "\n".join([*lines, f"reached: {words}", *(f"NOT REACHED: {word}" for word in self.missed)])


def tried(seeds: Iterable[int], seconds: float, *, is_plain: bool = False) -> Tried:
    """Try *seeds* for at most *seconds*, up to the first that fails; without faults ON_REQUEST if *is_plain*."""
    result, ends_at = Tried(), time.monotonic() + seconds
    with without_threads(), seldom_collected():
        for seed in seeds:
            if time.monotonic() > ends_at or result.failure:
                break
            simulation = simulate(seed, frozenset() if is_plain else asked_for(seed))
            result += _of(simulation, seed)
            take_apart(simulation)
    return result


def _of(simulation: Simulation, seed: int) -> Tried:
    """Let everything happen in one world."""
    failure = None
    try:
        simulation.run()
    except Violation as problem:
        actions = shrunk(simulation.shape, simulation.actions, 60.0)
        failure = f"seed {seed}: {problem}\n{told(simulation.shape, actions)}"
    world_ms, reached = simulation.world.clock_ms[0] - STARTED_MS, frozenset(simulation.persisted.reached.words)
    return Tried(1, simulation.next, world_ms, simulation.faults, reached, failure)


def asked_for(seed: int) -> frozenset[str]:
    """Return none for every other seed, and one after the other of the faults that need a world of their own.

    In a third of the worlds some groups have read lists.
    """
    number, is_with_one = divmod(seed, 2)
    turn, which = divmod(number, len(ON_REQUEST))
    return frozenset([ON_REQUEST[which]] * is_with_one + [LISTS] * (turn % 3 == 2))


def side_by_side(first: int, seconds: float, workers: int) -> Iterator[Tried]:
    """Yield what each of *workers* processes has tried, of the seeds from *first* on, up to the first failure."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        work = [pool.submit(tried, count(first + number, workers), seconds) for number in range(workers)]
        for each in as_completed(work):
            yield each.result()
            if each.result().failure:
                for process in active_children():
                    process.terminate()
                return


def main() -> int:
    """Try fresh seeds; print a short history of the first that fails, and what enough of them have not come to."""
    parser = argparse.ArgumentParser(description="Simulate until something is lost.")
    parser.add_argument("--hours", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--seed", type=int, help="the first seed (default: a random one)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    options = parser.parse_args()
    first = random.randrange(1_000_000_000) if options.seed is None else options.seed
    print(f"from seed {first}", flush=True)
    began = time.monotonic()
    found = reduce(Tried.__add__, side_by_side(first, options.hours * 3600, options.workers), Tried())
    a_minute = round(60 * found.steps / (time.monotonic() - began))
    print(found.failure or "nothing lost", found.told(), f"{a_minute:,} steps a minute", sep="\n")
    return 1 if found.failure or found.missed else 0


if __name__ == "__main__":
    sys.exit(main())
