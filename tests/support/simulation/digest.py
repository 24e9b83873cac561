"""What has become of seeds, in one line each: ``python -m simulation.digest 7 8:shrink 9:second,pause``.

The same seed must come to the same in every process, or what fails at night cannot be looked at in the morning.
"""

from __future__ import annotations

import hashlib
import sys

from simulation.garbage import seldom_collected, take_apart
from simulation.one_thread import without_threads
from simulation.simulation import Simulation, simulate


def digest(simulation: Simulation) -> str:
    """Return a digest of all that has come of a *simulation*: logs, commits, values and tables, in their order."""
    world, found = simulation.world, hashlib.sha256()
    for alias, cluster in world.clusters.items():
        found.update(repr((alias, cluster.log, cluster.group_offsets)).encode())
    logs = {where: (log.start, log.entries, log.known, log.life) for where, log in world.logs.items()}
    found.update(repr((logs, world.values, world.genuine, world.read, simulation.next)).encode())
    for name, versions in simulation.tables.versions.items():
        if name != "drivers":  # which names the process and the time of the day
            found.update(repr((name, [rows.to_pydict() for rows in versions])).encode())
    return found.hexdigest()


def main(seeds: list[str]) -> None:
    """Print one line for each of *seeds*, with the faults that it must have."""
    with without_threads(), seldom_collected():
        for each in seeds:
            seed, _, faults = each.partition(":")
            simulation = simulate(int(seed), frozenset(faults.split(",")) if faults else frozenset())
            simulation.run()
            print(seed, digest(simulation), flush=True)
            take_apart(simulation)


if __name__ == "__main__":
    main(sys.argv[1:])
