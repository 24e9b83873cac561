"""What report, plan and driver say of each key after a history, and while the world goes on: one word, and true."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from offset_sync.kafka.requests import Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, OffsetWrite, State, TopicPartition, WriteOutcome
from offset_sync.state.held_positions import groups_of
from offset_sync.state.lease import OpenFence
from offset_sync.status.assessment import Verdict, verdict
from offset_sync.status.live_state import OwnVerdicts, by_direction
from offset_sync.status.record_comparison import RecordPair
from offset_sync.status.reporter import IndexProgress, StatusReporter
from offset_sync.sync.offset_writer import write_offsets
from simulation.actions import draw_actions
from simulation.logs import Log
from simulation.oracle import Violation
from simulation.sync_driver import SyncDriver

if TYPE_CHECKING:
    from simulation.simulation import Simulation

_MEANWHILE = ("produce", "mirror", "poll", "commit", "start", "stop", "index", "retention", "down")
_STEPS = 40
_SIDES = ("source", "target")


class _Dry:
    """Reads one target, and writes nothing."""

    def __init__(self, driver: SyncDriver, target: str) -> None:
        self._driver, self._target = driver, target

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write."""
        world = self._driver.world
        there: Any = world.clusters[self._target]
        clock = Clock(lambda: world.clock_ms[0] / 1000, lambda _seconds: None)
        return write_offsets(writes, there, fence=OpenFence(), dry_run=True, deadline=1.0, clock=clock)


class Reader:
    """``report_status`` beside a driver, by its index and its verdicts."""

    def __init__(self, driver: SyncDriver) -> None:
        self._driver, self._world = driver, driver.world
        clusters: Any = self
        self.snapshot = driver.snapshot
        self._reporter = StatusReporter(driver.config, driver.state, clusters, clusters)

    def committed_offsets(self, alias: str, groups: Sequence[str]) -> Mapping[str, Any]:
        """Answer for a cluster's coordinators."""
        try:
            return self._world.clusters[alias].committed_offsets(groups, 1.0)
        except ClusterError as error:
            return dict.fromkeys(groups, error)

    def compare(self, pairs: Collection[RecordPair]) -> dict[RecordPair, str | None]:
        """Compare the next records."""
        return {each: None if self._next(each, 0) == self._next(each, 1) else "another one" for each in pairs}

    def _next(self, pair: RecordPair, side: int) -> int | None:
        log = self._world.logs[pair[side], pair.topic_partition]
        first = max((pair.source_offset, pair.target_offset)[side], log.start)
        return next((each.number for each in log.entries[first:] if each is not None), None)

    def decide(self) -> pa.Table:
        """Return the verdicts, as the driver's code has them now."""
        state, driver = self._driver.state, self._driver
        writers = {alias: _Dry(driver, alias) for alias in self._world.clusters}
        return OwnVerdicts(driver.config, state, driver.fetcher, self._world.clusters, writers).decide(state.all_rows())

    def report(self, verdicts: pa.Table) -> list[dict[str, Any]]:
        """Return rows of sync_status."""
        state = self._driver.state
        homes = {a: groups_of(state, state.rows_of(a, state.all_rows())) for a in self._world.clusters}
        held = self._reporter.ask({alias: groups for alias, groups in homes.items() if groups})
        directions, now_ms = by_direction(verdicts, self._driver.config), self._world.clock_ms[0]
        return self._reporter.report(directions, held, IndexProgress({}, {}), now_ms)


def check_reports(simulation: Simulation, seed: int = 0) -> int:
    """Raise Violation where the three do not say the same, or a group is said to be in sync that is not.

    Returns how many rows were in sync: at rest, and by the same verdicts while consumers, mirrors and the index go on.
    """
    driver = simulation.driver
    reader, told = Reader(driver), _told(driver)
    verdicts = reader.decide()
    for row in reader.report(verdicts):
        key = GroupPartition(row["group_id"], row["stream"], row["partition"])
        said = told.get((row["source_cluster"], row["target_cluster"], key))
        if said is not None and said != row["state"]:
            raise Violation("two words", f"{key}: the driver says {said}, the report {row['state']}")
    in_sync: list[dict[str, Any]] = []
    rng = random.Random(seed)
    for _ in range(4):
        for row in in_sync:
            _check_positions(simulation, row)  # those that were in sync stay so, whatever comes
        for row in reader.report(verdicts):
            may_move = verdict(row) is Verdict.NOW
            if may_move and row["status"] != "InSync":
                raise Violation("two words", f"the plan would move what the report calls {row['status']}: {row}")
            if row["status"] == "InSync":
                in_sync.append(row)
                _check_in_sync(simulation, row)
        simulation.actions = [each for each in draw_actions(rng, simulation.shape, _STEPS) if each[0] in _MEANWHILE]
        simulation.next = 0
        while simulation.next < len(simulation.actions):
            simulation.step()
    return len(in_sync)


def _told(driver: SyncDriver) -> dict[tuple[str, str, GroupPartition], str]:
    """Return the word of the driver's last answer for each key at its home."""
    state, found = driver.state, dict[tuple[str, str, GroupPartition], str]()
    for source, target in driver.config.pairs():
        rows = state.rows_of(source, state.all_rows())
        codes = state.last(source, target).columns["state"]
        for row in rows[codes[rows] >= 0].tolist():
            found[source, target, state.offsets.keys[row]] = State(int(codes[row])).name
    return found


def _check_in_sync(simulation: Simulation, row: dict[str, Any]) -> None:
    there = simulation.world.clusters[row["source_cluster"]].group_offsets
    held = there.get((row["group_id"], TopicPartition(row["stream"], row["partition"])))
    if held is None or held.offset != row["source_offset"]:
        raise Violation("false InSync", f"the source holds {held}: {row}")
    if missing := _check_positions(simulation, row):
        raise Violation("false InSync", f"{missing} are not at the target: {row}")


def _check_positions(simulation: Simulation, row: dict[str, Any]) -> set[int]:
    """Raise Violation where a group that moves loses or repeats records; return those that are not at the target."""
    place, committed, position = TopicPartition(row["stream"], row["partition"]), *(row[f"{a}_offset"] for a in _SIDES)
    here, there = (simulation.world.logs[row[f"{side}_cluster"], place] for side in _SIDES)
    read, left = _numbers(here, 0, committed), _numbers(here, max(committed, here.start), here.end)
    below, ahead = _numbers(there, 0, position), _numbers(there, max(position, there.start), there.end)
    if lost := (left - read) & (below - ahead):
        raise Violation("false InSync", f"{lost} are below {position}, and unread from {committed} on: {row}")
    if repeated := read & ahead:
        raise Violation("false InSync", f"{repeated} are read below {committed}, and come from {position} on: {row}")
    return left - read - below - ahead


def _numbers(log: Log, first: int, end: int) -> set[int]:
    return {each.number for each in log.entries[first:end] if each is not None}
