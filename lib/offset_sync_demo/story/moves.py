"""The moves of all acts, by the code of the command ``cutover``, in the demo's own process: it saves starts."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Collection
from functools import cached_property
from io import StringIO
from itertools import chain
from pathlib import Path

from offset_sync.config import load_config
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.judge import Judge
from offset_sync.cutover.plan import NO_OPTIONS, Direction, Mode, Options
from offset_sync.cutover.procedure import open_cutover
from offset_sync.cutover.rehearsal import open_rehearsal
from offset_sync.jobs.report_status import StatusJob, open_outputs
from offset_sync.model.errors import ClusterError, OffsetSyncError
from offset_sync.model.reasons import Reason
from offset_sync.state.lease import OpenFence
from offset_sync.status.live_state import LiveState
from offset_sync.tables.store import TableStore

WAIT_SECONDS = 90.0
REHEARSED = 300
"""Records of a partition on each side of a start."""


class Moves:
    """Moves groups with the configuration file *config* and its tables; *say* prints each command."""

    def __init__(self, tables: TableStore, config: Path, say: Callable[[str], None]) -> None:
        self._tables, self._config, self._say = tables, load_config(str(config)), say
        self._reporting: StatusJob | None = None

    def after_a_disaster(self, source: str, target: str, groups: Collection[str]) -> None:
        """Move without the source, from the tables alone; raises OffsetSyncError if a group could not be moved."""
        self._say(f"cutover apply --disaster --from {source} --to {target}")
        self._apply(LiveState(self._config, self._tables, [source]), Direction(source, target), groups, Mode.DISASTER)

    def as_planned(self, source: str, target: str, groups: Collection[str]) -> None:
        """Plan, apply and verify; raises OffsetSyncError if a group is not in sync afterwards."""
        state, direction = self._state, Direction(source, target)
        self._wait_for_expired_members(state, target, groups)
        self._say(f"cutover plan --from {source} --to {target}")
        journal = TableJournal(state.tables, direction, Mode.PLANNED, self._config.names)
        judge = Judge(direction, self._config.names)
        asking, _ = open_cutover(self._config, state, judge, journal, OpenFence(), decides=False)
        plans = asking.plan(sorted(groups), Mode.PLANNED)
        _expect_no_failures([problem for plan in plans for problem in plan.blocking])
        self._say(f"cutover apply --planned --from {source} --to {target}")
        self._apply(state, direction, groups, Mode.PLANNED)
        self._say(f"cutover verify --from {source} --to {target}")
        asking, _ = open_cutover(self._config, state, judge, journal, OpenFence(), decides=False)
        _expect_no_failures(asking.verify(sorted(groups)))

    def rehearse(self, source: str, target: str, groups: Collection[str]) -> None:
        """Compare what a move would repeat and lose with the records; raises OffsetSyncError for a surprise."""
        direction = Direction(source, target)
        live = LiveState(self._config, self._tables)
        journal = TableJournal(live.tables, direction, Mode.PLANNED, self._config.names)
        judge = Judge(direction, self._config.names)
        _, clusters = open_cutover(self._config, live, judge, journal, OpenFence(), decides=False)
        predicted = clusters.partition_statuses(groups)
        rehearsal = open_rehearsal(self._config, live, judge, journal, REHEARSED, WAIT_SECONDS)
        rehearsed = [rehearsal.rehearse(group_id, each) for group_id, each in predicted.items()]
        _expect_no_failures(list(chain.from_iterable(each.problems for each in rehearsed)))
        records, partitions, repeats, lost = (
            sum(int(each.columns[name] or 0) for each in rehearsed)
            for name in ("records", "rehearsed", "repeats", "lost")
        )
        self._say(
            f"cutover rehearse --from {source} --to {target}: {records:,} records of {partitions} partitions compared, "
            f"{repeats:,} would be repeated, {lost:,} lost, as predicted"
        )

    def by_lists(self, source: str, target: str, groups: Collection[str], *, is_unproven: bool = False) -> None:
        """Move groups by their read lists; raises OffsetSyncError if one could not be moved."""
        more = " --without-proof" if is_unproven else ""
        self._say(
            f"cutover apply --planned --skip-read{more} --from {source} --to {target} --groups {' '.join(groups)}"
        )
        options = Options([Reason.NO_MARK.name] if is_unproven else (), has_read_lists=True)
        # A new state, as for a new command: the previous one has decided the homes of these groups in memory.
        state = LiveState(self._config, self._tables)
        self._apply(state, Direction(source, target), groups, Mode.PLANNED, options)

    def _wait_for_expired_members(self, state: LiveState, alias: str, groups: Collection[str]) -> None:
        """Wait until the sessions of members that were killed with *alias* have expired there."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not isinstance(listed := state.clusters.listed_groups(alias), ClusterError):
            if not any(listed.get(group) for group in groups):
                return
            if time.monotonic() > deadline:
                raise OffsetSyncError(
                    f"{', '.join(sorted(groups))}: still members at {alias} after {WAIT_SECONDS:.0f} s; stop them"
                )
            time.sleep(0.5)

    def report(self) -> str:
        """Write a report, and return the path of its page."""
        self._say("report_status")
        if self._reporting is None:
            arguments = argparse.Namespace(
                once=True, format="json", group=[], topic=[], status=[], most=20, details=False
            )
            shows = open_outputs(self._config, arguments, StringIO())
            self._reporting = StatusJob(self._config, self._state, threading.Event(), shows)
        self._reporting.show(self._reporting.make())
        return self._config.status.page

    @cached_property
    def _state(self) -> LiveState:
        return LiveState(self._config, self._tables)

    def _apply(
        self,
        state: LiveState,
        direction: Direction,
        groups: Collection[str],
        mode: Mode,
        options: Options = NO_OPTIONS,
    ) -> None:
        journal = TableJournal(state.tables, direction, mode, self._config.names)
        judge = Judge(direction, self._config.names, options)
        moving, _ = open_cutover(self._config, state, judge, journal, OpenFence(), decides=True)
        _expect_no_failures(moving.apply(sorted(groups), mode, WAIT_SECONDS)[1])


def _expect_no_failures(failures: Collection[object]) -> None:
    if failures:
        raise OffsetSyncError("; ".join(map(str, failures)))
