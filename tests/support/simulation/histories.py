"""Histories that fail: found by seeds, made short, and told as ``tests/simulation/test_histories.py`` reads them."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Sequence

from offset_sync.model.values import TopicPartition
from protections.entry import Seed
from simulation.actions import Action
from simulation.one_thread import without_threads
from simulation.oracle import Violation
from simulation.shape import Shape
from simulation.simulation import Simulation, simulate


def failure(simulation: Simulation) -> Violation | None:
    """Let everything happen, and return how that breaks the promise, None if it does not."""
    try:
        simulation.run()
    except Violation as problem:
        return problem
    return None


def worlds(seeds: Sequence[Seed]) -> Iterator[tuple[Seed, Simulation, Violation | None]]:
    """Yield what has become of *seeds*, each world before the next one begins."""
    with without_threads():
        for seed in seeds:
            simulation = simulate(seed.seed, seed.faults, steps=seed.steps)
            yield seed, simulation, failure(simulation)
            take_apart(simulation)


def take_apart(simulation: Simulation) -> None:
    """Have the parts of a *simulation* that is over know nothing of each other, so that they go with it."""
    world, drivers = simulation.world, simulation.drivers
    parts = [*(driver.reconciler for driver in drivers), *drivers, *world.clusters.values(), world, simulation.oracle]
    for part in (*parts, simulation):
        vars(part).clear()


def first_failure(first: Seed, seeds: int = 1) -> str | None:
    """Return the message of the first failure of so many *seeds* from *first* on; None if they have none."""
    numbers = range(first.seed, first.seed + seeds)
    found = worlds([first._replace(seed=number) for number in numbers])
    return next((f"seed {seed.seed}: {problem}" for seed, _, problem in found if problem), None)


def shrunk(shape: Shape, actions: Sequence[Action], kind: str, seconds: float = 60.0) -> list[Action]:
    """Return a part of *actions* that breaks the promise in the same way, as short as *seconds* allow."""
    ends_at, kept, size = time.monotonic() + seconds, [*actions], len(actions)
    while size := size // 2:
        for at in range(len(kept) - size, -1, -size):
            tried = kept[:at] + kept[at + size :]
            found = failure(Simulation(shape, tried)) if time.monotonic() < ends_at else None
            kept = tried if found and found.kind == kind else kept
    return kept


def told(shape: Shape, actions: Sequence[Action]) -> str:
    """Return the history for people."""
    return "\n".join([str(shape), *(" ".join(_word(each) for each in action if each != "") for action in actions)])


def _word(value: object) -> str:
    return f"{value.topic}-{value.partition}" if isinstance(value, TopicPartition) else str(value)


def digest(simulation: Simulation) -> str:
    """Return a digest of all that has come of a *simulation*: logs, commits, values and tables, in their order."""
    world, tables = simulation.world, simulation.tables.versions
    parts = {alias: (cluster.log, cluster.group_offsets) for alias, cluster in world.clusters.items()}
    logs = {where: (log.start, log.entries, log.known, log.life) for where, log in world.logs.items()}
    # The drivers' table names the process and the time of the day.
    rows = {name: [each.to_pydict() for each in tables[name]] for name in tables if name != "drivers"}
    found = parts, logs, world.values, world.genuine, world.read, simulation.next, rows
    return hashlib.sha256(repr(found).encode()).hexdigest()


def main(seeds: Sequence[str]) -> None:
    """Print a digest of each of *seeds*, given with the faults that it must have: ``7 8:shrink 9:second,pause``."""
    given = [each.partition(":") for each in seeds]
    wanted = [Seed(frozenset(faults.split(",")) - {""}, int(seed), 600) for seed, _, faults in given]
    for seed, simulation, problem in worlds(wanted):
        print(seed.seed, digest(simulation), problem, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
