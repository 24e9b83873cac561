"""A few seeds that together come to everything, found among many: ``python -m simulation.cover losses:0:9 polls:0:5``.

``tests/simulation/test_reached.py`` has such seeds; look for others where a change has them come to something else.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from simulation.garbage import seldom_collected, take_apart
from simulation.one_thread import without_threads
from simulation.reached import WANTED
from simulation.simulation import simulate

Seed = tuple[int, frozenset[str]]
"""A seed, and the faults that it is asked for."""


def words_of(seed: Seed) -> frozenset[str]:
    """Return what one world comes to."""
    simulation = simulate(*seed)
    simulation.run()
    found = frozenset(simulation.persisted.reached.words)
    take_apart(simulation)
    return found


def all_words_of(seeds: Sequence[Seed]) -> dict[Seed, frozenset[str]]:
    """Return what each world comes to."""
    with without_threads(), seldom_collected():
        return {seed: words_of(seed) for seed in seeds}


def cover(found: Mapping[Seed, frozenset[str]]) -> list[Seed]:
    """Return a few of the seeds that come to all that these come to: the next is always the one that adds most."""
    chosen, left = list[Seed](), WANTED & frozenset[str]().union(*found.values())
    while left:
        best = max(found, key=lambda seed: len(found[seed] & left))
        chosen.append(best)
        left -= found[best]
    return chosen


def main(arguments: Sequence[str]) -> None:
    """Print the few of the seeds of some faults, and what none of these seeds comes to."""
    ranges = [each.split(":") for each in arguments]
    found = all_words_of(
        [(n, frozenset(f.split(","))) for f, first, end in ranges for n in range(int(first), int(end))]
    )
    for number, faults in cover(found):
        print(f"{number}: {','.join(sorted(faults))}")
    print("missing:", *sorted(WANTED - frozenset[str]().union(*found.values())), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
