"""What actions act on; and producers of records whose headers are not what a mirror writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.sealed_tables import SealedInMemory
from offset_sync.model.values import TopicPartition
from simulation.consumers import Group, Twin
from simulation.logs import Log, Record
from simulation.mirrors import headers_of
from simulation.oracle import Oracle
from simulation.persisted import Persisted
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


MOST_RECORDS = 40


class OddRecords(Acting):
    """Actions of producers."""

    def do_malformed(self, alias: str, place: TopicPartition, chance: float) -> None:
        self.world.produce(alias, place, (b"IDC-Y", b"x"), is_odd=True)

    def do_beyond_log(self, alias: str, place: TopicPartition, chance: float) -> None:
        self.world.produce(alias, place, headers_of(self.other(alias, chance), 1_000 + int(chance * 100)), is_odd=True)

    def do_leak(self, alias: str, place: TopicPartition, chance: float) -> None:
        other = self.other(alias, chance)
        if end := self.log(other, place).end:
            self.world.produce(alias, place, headers_of(other, int(chance * end)), is_odd=True)

    def do_echo(self, alias: str, place: TopicPartition, chance: float) -> None:
        log = self.log(alias, place)
        offset = int(chance * log.end)
        if not log.start <= offset < log.end <= MOST_RECORDS or (record := log.entries[offset]) is None:
            return
        if self.world.births[place][record.number] == (alias, offset, log.life) and record.headers is None:
            self.world.append(alias, place, Record(record.number, headers_of(alias, offset)))
