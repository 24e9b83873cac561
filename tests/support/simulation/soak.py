"""Seeds one after the other, for hours if one likes: ``python -m simulation.soak --hours 2``."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from simulation.one_thread import without_threads
from simulation.oracle import Violation
from simulation.report import told
from simulation.shape import ON_REQUEST
from simulation.shrink import shrunk
from simulation.simulation import simulate


@dataclass
class Tried:
    """How many seeds and steps were tried, and the history of the first failure."""

    seeds: int = 0
    steps: int = 0
    failure: str | None = None


def tried(seeds: Iterable[int], seconds: float, *, is_plain: bool = False) -> Tried:
    """Try *seeds* for at most *seconds*, up to the first that fails; without faults ON_REQUEST if *is_plain*."""
    result, ends_at = Tried(), time.monotonic() + seconds
    with without_threads():
        for seed in seeds:
            if time.monotonic() > ends_at:
                break
            simulation = simulate(seed, frozenset() if is_plain else _asked_for(seed))
            try:
                simulation.run()
            except Violation as problem:
                shape = simulation.shape
                actions = shrunk(shape, simulation.actions, 60.0)
                result.failure = f"seed {seed}: {problem}\n{told(shape, actions)}"
                break
            finally:
                result.seeds, result.steps = result.seeds + 1, result.steps + simulation.next
    return result


def _asked_for(seed: int) -> frozenset[str]:
    """Return none for every other seed, and one after the other of the faults that need a world of their own."""
    number, is_with_one = divmod(seed, 2)
    return frozenset({ON_REQUEST[number % len(ON_REQUEST)]} if is_with_one else ())


def main() -> int:
    """Try fresh seeds, and print a short history of the first that fails."""
    parser = argparse.ArgumentParser(description="Simulate until something is lost.")
    parser.add_argument("--hours", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--seed", type=int, help="the first seed (default: a random one)")
    options = parser.parse_args()
    first = random.randrange(1_000_000_000) if options.seed is None else options.seed
    print(f"from seed {first}", flush=True)
    result = tried(count(first), options.hours * 3600)
    print(result.failure or "nothing lost", f"{result.seeds} seeds, {result.steps} steps", sep="\n")
    return 1 if result.failure else 0


if __name__ == "__main__":
    sys.exit(main())
