"""What is left of simulations that are over: most goes at once, and for the rest Python looks only seldom."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from simulation.simulation import Simulation


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for garbage in cycles only now and then, and never among objects that stay for good."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def take_apart(simulation: Simulation) -> None:
    """Have the parts of a *simulation* that is over know nothing of each other, so that they go with it."""
    world, drivers = simulation.world, simulation.drivers
    parts = [*(driver.reconciler for driver in drivers), *drivers, *world.clusters.values(), world, simulation.oracle]
    for part in (*parts, simulation):
        vars(part).clear()
