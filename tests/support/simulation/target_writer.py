"""Commits of ``sync_offsets`` at one target, while the world goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fakes.clusters import place_of
from offset_sync.kafka.requests import Clock
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.lease import FRESH_S
from offset_sync.sync.offset_writer import write_offsets
from simulation.world import Position

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver


class _SlowAdmin:
    """A cluster to which things happen between the last look at the lease and the request that writes."""

    def __init__(self, driver: SyncDriver, cluster: Any) -> None:
        self._driver, self._cluster = driver, cluster

    def __getattr__(self, name: str) -> Any:
        if name == "write_offsets" and "second" in self._driver.world.shape.faults:
            self._driver.pause(asleep_ms=int(FRESH_S * 1000))
        return getattr(self._cluster, name)


class Writer:
    """Commits at one target through the real decisions."""

    def __init__(self, driver: SyncDriver, target: str) -> None:
        self.driver, self.target = driver, target

    def write(self, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        world = self.driver.world
        places = [Position(self.target, each.group_id, place_of(each)) for each in writes]
        self.driver.oracle.note_plan(self.driver, places)
        world.tried.update((where, each.offset) for where, each in zip(places, writes, strict=True))
        self.driver.pause()
        world.writer = self.driver.process
        clock = Clock(lambda: world.clock_ms[0] / 1000, self._sleep)
        cluster: Any = _SlowAdmin(self.driver, world.clusters[self.target])
        fence = self.driver.lease
        outcomes = write_offsets(writes, cluster, fence=fence, dry_run=False, deadline=1.0, clock=clock)
        self.driver.pause()
        return outcomes

    def _sleep(self, seconds: float) -> None:
        self.driver.world.clock_ms[0] += int(seconds * 1000) + 1
