"""What actions act on, and what most of them ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.sealed_tables import SealedInMemory
from offset_sync.model.values import TopicPartition
from simulation.consumers import Group
from simulation.logs import Log
from simulation.oracle import Oracle
from simulation.persisted import Persisted
from simulation.readers import Twin
from simulation.shape import Shape
from simulation.world import SimCluster, World

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver


class Acting:
    """A *world* of *shape* in which actions happen; one that comes to nothing, or ends a fault, returns False."""

    world: World
    shape: Shape
    groups: dict[str, Group]
    twins: dict[tuple[str, str], Twin]
    driver: SyncDriver
    oracle: Oracle
    tables: SealedInMemory
    persisted: Persisted
    is_waiting = False

    @property
    def is_under_way(self) -> bool:
        """Whether a driver has something in hand."""
        return self.driver.is_busy or self.is_waiting

    def cluster(self, alias: str) -> SimCluster:
        return self.world.clusters[alias]

    def log(self, alias: str, place: TopicPartition) -> Log:
        return self.world.logs[alias, place]

    def other(self, alias: str, chance: float) -> str:
        others = [each for each in self.shape.clusters if each != alias]
        return others[int(chance * len(others))]

    def group(self, chance: float) -> str:
        return self.shape.groups[int(chance * len(self.shape.groups))]

    def restart(self) -> bool:
        self.driver.restart()
        return True
