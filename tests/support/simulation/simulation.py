"""One world from its seed to the end: actions one by one, the promise checked after each, and all exact after quiet."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fakes.sealed_tables import SealedInMemory
from fakes.tables import PowerFailure
from offset_sync.model.errors import TakenOverError
from offset_sync.model.values import TopicPartition
from simulation.actions import Action, draw_actions, fault_of
from simulation.consumers import Group, Twin, elect, names_epochs
from simulation.index_driver import Indexer
from simulation.log_checks import LogChecks, lose_commits
from simulation.logs import Position
from simulation.mirrors import Mirror
from simulation.operators import HomeActions, JobActions
from simulation.oracle import Oracle
from simulation.persisted import Persisted
from simulation.producers import MOST_RECORDS, OddRecords
from simulation.quiet import Quiet, come_to_rest
from simulation.shape import LISTS, Shape, random_shape
from simulation.skipping import Memory, list_group
from simulation.sync_driver import SyncDriver
from simulation.world import GRACE_MS, World

Pauses = tuple[int, int] | None


class Simulation(OddRecords, HomeActions, JobActions):
    """A world of *shape* in which *actions* happen."""

    def __init__(self, shape: Shape, actions: Sequence[Action]) -> None:
        self.shape, self.actions, self.next = shape, actions, 0
        self.world = world = World(shape)
        world.memory = Memory(world)
        routes = [(*route, place) for route in shape.routes for place in shape.places]
        self.mirrors = {route: Mirror(world, *route) for route in routes}
        self.groups = {
            name: Group(world, name, metadata=_metadata(shape, n), names_epochs=names_epochs(shape, n))
            for n, name in enumerate(shape.groups)
        }
        self.twins = {each: Twin(world, *each) for each in shape.twins}
        self.oracle = Oracle(world, self.mirrors, list(self.twins.values()))
        self.tables, self.persisted = SealedInMemory(), Persisted(shape.clusters)
        self.checks = LogChecks(world, self.tables)
        self.indexers = {alias: Indexer(world, alias, self.tables, self.checks) for alias in shape.clusters}
        self.drivers: list[SyncDriver] = []
        self.pauses: Pauses = None
        self.faults = Counter[str]()  # so many have happened of each kind
        self.driver = self._new_driver()

    def _new_driver(self) -> SyncDriver:
        driver = SyncDriver(self)
        driver.skew_ms = 2 * GRACE_MS if "clocks" in self.shape.faults else 0
        self.drivers.append(driver)
        return driver

    def run(self) -> None:
        """Let everything happen, then come to rest; raises Violation, also where it is not exact then."""
        while self.next < len(self.actions):
            self.step()
        come_to_rest(self)
        Quiet(self).check()

    def step(self) -> None:
        """Let the next action happen, and check what it has touched."""
        action = self.actions[self.next]
        self.next += 1
        self.world.clock_ms[0] += 1
        if self._act(*action) is not False and (fault := fault_of(action)):
            self.faults[fault] += 1
        if self.world.touched:
            self.oracle.check_touched()

    def _act(self, name: str, *given: Any) -> object:
        who, _, what = name.partition("_")
        if who == "twin":
            return getattr(self.twins[given[:2]], what)(*given[2:])
        if name in ("stop", "poll", "commit"):
            return getattr(self.groups[given[0]], name)(*given[1:])
        if name in ("sync", "grown", "full"):
            return self._drive(given[-1], getattr(self.driver, name), *given[:-1])
        return getattr(self, f"do_{name}")(*given)

    def pause(self, driver: SyncDriver, asleep_ms: int) -> None:
        """Let what the action in hand says happen while the driver waits."""
        if self.pauses is None:
            return
        wait, count = self.pauses
        if wait:
            self.pauses = wait - 1, count
            return
        self.pauses = None
        self.faults["pause" if count else "crash"] += 1
        if not count:
            raise PowerFailure
        self.world.clock_ms[0] += asleep_ms
        if "second" in self.shape.faults and count % 2:
            self.do_second()
        self.is_waiting = True  # what it has in hand knows keys by its own rows: it is not restarted meanwhile
        if self.driver is not driver and count % 4 == 1:
            self.driver.catch_up()
        for _ in range(count):
            if self.next < len(self.actions):
                self.step()
        self.is_waiting = False

    def _drive(self, pauses: Pauses, work: Any, *arguments: Any) -> None:
        driver = self.driver
        if self.is_under_way:
            pauses = None
        else:
            self.pauses = pauses
        try:
            work(*arguments)
        except TakenOverError:
            if driver is self.driver:
                raise
        except PowerFailure:
            if driver.is_busy and pauses is None:
                raise
            driver.restart()
        if not driver.is_busy:
            self.pauses = None

    # What producers and mirrors do

    def do_produce(self, alias: str, place: TopicPartition, chance: float) -> None:
        if self.log(alias, place).end < MOST_RECORDS and any(r[0] == alias for r in self.shape.routes):
            for _ in range(1 + int(chance * 3)):
                self.world.produce(alias, place)

    def do_mirror(self, origin: str, copy: str, place: TopicPartition, count: int, fault: str, at: int) -> bool:
        is_long = self.log(copy, place).end >= 2 * MOST_RECORDS
        is_down = self.cluster(origin).is_down or self.cluster(copy).is_down
        if is_down or self.cluster(copy).is_without(place) or is_long:
            return False
        self.mirrors[origin, copy, place].copy_some(count, fault, at)
        return True

    def do_marker(self, alias: str, place: TopicPartition, chance: float) -> None:
        if self.log(alias, place).end < MOST_RECORDS:
            self.world.append(alias, place, None)

    # What happens to logs and clusters

    def do_retention(self, alias: str, place: TopicPartition, chance: float) -> None:
        log = self.log(alias, place)
        log.start += int((log.end - log.start) * chance * 0.6)
        self.world.touch(alias, place)

    def do_cut(self, alias: str, place: TopicPartition, chance: float) -> bool:
        log = self.log(alias, place)
        # A log that is cut between our asking and our writing has our value until the next pass.
        if (LISTS in self.shape.faults and self.is_under_way) or not self._may_lose(alias, place):
            return False
        if "elected" in self.shape.faults:
            elect(self.world, [*self.groups.values()], self.checks.seen_end(alias, place), (alias, place), chance)
        else:
            end, grows = log.end - int((log.end - log.start) * chance), "cut_grows" in self.shape.faults
            if grows and not log.known >> end:
                return False  # only groups that name leader epochs can miss unindexed records: see elections
            log.cut(end)
            log.is_frozen = not grows
        self._trouble(alias, place)
        return True

    def _may_lose(self, alias: str, place: TopicPartition) -> bool:
        mirrors = [each for each in self.mirrors.values() if (each.origin, each.place) == (alias, place)]
        return self.checks.may_lose(alias, place, [record for each in mirrors for _, record in each.held])

    def do_anew(self, alias: str, place: TopicPartition, chance: float) -> bool:
        places = [each for each in self.shape.places if each.topic == place.topic]
        # A topic that is recreated between our asking and our writing has our value until the next pass.
        is_spared = self.driver.is_busy or ("third_anew" in self.shape.faults and alias != "Z")
        if is_spared or not all(self._may_lose(alias, each) for each in places):
            return False
        self.cluster(alias).ids[place.topic] += 1
        for each in places:
            self.log(alias, each).begin_again()
            self._trouble(alias, each)
            self.cluster(alias).remove_of(each)
        return True

    def _trouble(self, alias: str, place: TopicPartition) -> None:
        self.world.inexact |= (touched := {(group, place) for group in self.shape.groups})
        if not self.shape.faults & {"cut_grows", "elected"} and (alias != "Z" or "third_anew" not in self.shape.faults):
            self.world.troubled |= touched

    def do_down(self, alias: str, place: TopicPartition, chance: float) -> bool:
        return self.cluster(alias).turn("is_down", is_often=chance < 0.5)

    def do_close(self, alias: str, place: TopicPartition, chance: float) -> bool:
        return self.cluster(alias).turn("is_closed", is_often=chance < 0.7)

    def do_shrink(self, alias: str, place: TopicPartition, chance: float) -> None:
        lose_commits(self.world, alias, chance)

    def do_trouble_lists(self, alias: str, place: TopicPartition, chance: float) -> None:
        """Have requests for lists fail in some way, or no more; or have a tool delete the present ones."""
        faults = ("GROUP_AUTHORIZATION_FAILED", "REQUEST_TIMED_OUT", "NOT_COORDINATOR", "silent", "", "", "", "")
        self.cluster(alias).list_fault = faults[int(chance * len(faults))]
        if chance > 0.9:
            self.cluster(alias).remove_lists(place=place)

    def do_wait(self, milliseconds: int) -> None:
        until = self.world.clock_ms[0] + milliseconds
        for mirror in self.mirrors.values():
            mirror.bring_held(until)
        self.world.clock_ms[0] = until

    def do_silence(self, tenths: int) -> None:
        self.do_wait(self.shape.silence_ms * tenths // 10)

    # What happens to groups

    def do_start(self, group: str, alias: str) -> None:
        if not self.cluster(alias).is_down:
            self.groups[group].start(alias)

    def do_reset(self, group: str, alias: str, place: TopicPartition, chance: float) -> None:
        log = self.log(alias, place)
        self.groups[group].reset(alias, place, log.start + int((log.end - log.start + 1) * chance))

    def do_commit_beyond(self, group: str, alias: str, place: TopicPartition, chance: float) -> None:
        self.groups[group].reset(alias, place, self.log(alias, place).end + 1 + int(chance * 5))

    def do_forget(self, group: str, alias: str, place: TopicPartition, chance: float) -> None:
        if self.groups[group].at != alias:
            self.cluster(alias).remove(Position(alias, group, place))

    def do_expire(self, group: str, alias: str) -> None:
        if not any(name == group for name, _ in self.twins):
            self.cluster(alias).remove_lists(group=list_group(group))  # they expire by themselves
            self.groups[group].expire()

    # What happens to jobs

    def do_index(self, alias: str, most: int, pauses: Pauses) -> None:
        indexer = self.indexers[alias]
        if "late_index" in self.shape.faults and not indexer.checkpoint.ends:
            indexer.begin_at_end()
        indexer.run(most)

    def do_set_back(self, alias: str, place: TopicPartition, chance: float) -> None:
        self.world.is_index_lacking = True
        self.indexers[alias].set_back(1 + int(chance * 3))

    def do_flush(self, _pauses: Pauses) -> None:
        self.driver.flush()

    def do_crash(self, *_where: object) -> bool:
        return not self.is_under_way and self.restart()

    def do_refuse(self, alias: str, place: TopicPartition, chance: float) -> None:
        """Have a coordinator not answer for a group, for now or for lack of a right, or answer again."""
        where = alias, self.group(chance)
        if self.world.unasked.pop(where, None) is None:
            self.world.unasked[where] = chance * 100 % 1 < 0.7

    def do_recast(self, alias: str, *_more: object) -> None:
        """Restart the job with another ``commits`` of a cluster."""
        if not self.is_under_way and "second" not in self.shape.faults:
            self.world.polled ^= {alias}
            self.persisted.recast(alias)
            self.restart()

    def do_exclude(self, alias: str, place: TopicPartition, chance: float) -> None:
        """Restart the job with a group excluded, or included again."""
        if not self.is_under_way:
            self.world.excluded ^= {self.group(chance)}
            self.restart()

    def do_second(self, *_where: object) -> None:
        """Start a driver beside the one that there is; it goes on as long as it does not see that."""
        self.driver = self._new_driver()
        self.world.clock_ms[0] += 1_000  # to start takes a while, and to be sure of it longer


def _metadata(shape: Shape, number: int) -> str:
    """Return what a group commits beside its offset: it proves nothing."""
    if "tags" in shape.faults:
        return ("offset-sync", "", "offset-sync:X")[number % 3]
    return "m" if number else ""


def simulate(seed: int, wanted: frozenset[str] = frozenset(), *, steps: int = 600) -> Simulation:
    """Return the simulation of *seed*, before it has begun."""
    rng = random.Random(seed)
    shape = random_shape(rng, wanted)
    return Simulation(shape, draw_actions(rng, shape, steps))
