"""Seeds one after the other, for hours if one likes: ``python -m simulation.soak --hours 2``."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import count
from multiprocessing import active_children, get_context

from simulation.garbage import seldom_collected, take_apart
from simulation.one_thread import without_threads
from simulation.oracle import Violation
from simulation.report import told
from simulation.shape import LISTS, ON_REQUEST
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
    with without_threads(), seldom_collected():
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
            take_apart(simulation)
    return result


def _asked_for(seed: int) -> frozenset[str]:
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
    """Try fresh seeds, and print a short history of the first that fails."""
    parser = argparse.ArgumentParser(description="Simulate until something is lost.")
    parser.add_argument("--hours", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--seed", type=int, help="the first seed (default: a random one)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    options = parser.parse_args()
    first = random.randrange(1_000_000_000) if options.seed is None else options.seed
    print(f"from seed {first}", flush=True)
    began = time.monotonic()
    results = list(side_by_side(first, options.hours * 3600, options.workers))
    failure = next((each.failure for each in results if each.failure), None)
    seeds, steps = sum(each.seeds for each in results), sum(each.steps for each in results)
    a_minute = round(60 * steps / (time.monotonic() - began))
    print(failure or "nothing lost", f"{seeds} seeds, {steps:,} steps, {a_minute:,} a minute", sep="\n")
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
