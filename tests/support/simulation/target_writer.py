"""Commits of ``sync_offsets`` at one target, while the world goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from offset_sync.kafka.requests import Clock, partition_of
from offset_sync.model.values import OWN_GROUPS, OffsetWrite, Outcome, WriteOutcome
from offset_sync.state.lease import FRESH_S
from offset_sync.sync.offset_writer import write_offsets
from simulation.logs import Position
from simulation.oracle import Known, Violation
from simulation.skipping import of_list_group

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver


class Slow:
    """A *cluster* to which things happen *before* some requests."""

    def __init__(self, cluster: Any, **before: Callable[[], object]) -> None:
        self._cluster, self._before = cluster, before

    def __getattr__(self, name: str) -> Any:
        if name in self._before:
            self._before[name]()
        return getattr(self._cluster, name)


class Writer:
    """Commits at one target through the real decisions."""

    def __init__(self, driver: SyncDriver, target: str) -> None:
        self.driver, self.target = driver, target
        self.known: list[dict[Position, Known]] = []  # before lists were asked for or written, in this pass

    def write(self, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        places = [Position(self.target, each.group_id, partition_of(each)) for each in writes]
        if not any(each.group.startswith(OWN_GROUPS) for each in places):
            return self._write_offsets(writes, places)
        groups = [of_list_group(each) for each in places]
        self.note_known()
        outcomes = self._write(writes)
        for where, each in zip(groups, outcomes, strict=True):
            self.driver.note_list(where, is_written=each.outcome is Outcome.COMMITTED)
        return outcomes

    def note_known(self) -> None:
        """Note what the driver knows now, of every place."""
        shape = self.driver.world.shape
        offsets = [Position(self.target, group, place) for group in shape.groups for place in shape.places]
        self.known.append({each: self.driver.oracle.known(self.driver, each) for each in offsets})

    def _write_offsets(self, writes: Sequence[OffsetWrite], places: Sequence[Position]) -> list[WriteOutcome]:
        world, driver = self.driver.world, self.driver
        self.known.append({each: driver.oracle.known(driver, each) for each in places})
        driver.oracle.note_plan({each: [known[each] for known in self.known if each in known] for each in places})
        world.tried.update((where, each.offset) for where, each in zip(places, writes, strict=True))
        outcomes = self._write(writes)
        for where, write, each in zip(places, writes, outcomes, strict=True):
            if each.is_in_doubt:
                world.doubted.add((where, write.offset))
            elif each.outcome is Outcome.COMMITTED:
                driver.acknowledged[where] = write.offset
                world.written.setdefault(where, Counter())[write.offset] += 1
        return outcomes

    def _write(self, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        world = self.driver.world
        self.driver.pause()
        world.writer, world.lives = self.driver.process, self.driver.asked_lives
        clock = Clock(lambda: world.clock_ms[0] / 1000, self._sleep)
        cluster: Any = world.clusters[self.target]
        if "second" in world.shape.faults:  # between the last look at the lease and the request that writes
            cluster = Slow(cluster, write_offsets=partial(self.driver.pause, int(FRESH_S * 1000)))
        fence, is_held_back = self.driver.lease, self.driver.persisted.is_held_back
        before = len(world.clusters[self.target].stood)
        outcomes = write_offsets(writes, cluster, fence=fence, dry_run=is_held_back, deadline=1.0, clock=clock)
        if is_held_back and len(world.clusters[self.target].stood) > before:
            raise Violation("written", f"{self.target} was written to by a driver with --dry-run")
        self.driver.pause()
        return outcomes

    def _sleep(self, seconds: float) -> None:
        self.driver.world.clock_ms[0] += int(seconds * 1000) + 1
