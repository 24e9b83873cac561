"""Commits that are polled: the real poller among coordinators, and what it has to make of their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from offset_sync.ingest.polled_commits import CommitPoller, PollIngester
from offset_sync.kafka.requests import Committed, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, OWN_GROUPS, TopicPartition
from offset_sync.state.sync_state import SyncState
from simulation.commit_ingester import Ingester
from simulation.judge import AnyJudge
from simulation.logs import Position, SimRecord
from simulation.oracle import Violation

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver

Answer = Mapping[TopicPartition, Committed] | ClusterError


class Coordinators:
    """Those of one cluster, asked by a driver; *told* has the record behind each answer, or that of its deletion."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self.alias, self._driver = alias, driver
        self._world, self._cluster = driver.world, driver.world.clusters[alias]
        self.told: dict[Position, SimRecord] = {}
        self.written: dict[Position, Counter[int]] = {}  # by us, up to the last answer
        self.held: dict[str, Answer] = {}  # of the present poll

    def groups(self, deadline: float) -> Collection[str]:
        """Return the groups that have committed anything; things happen before the answer."""
        self._driver.pause()
        self.held.clear()
        return self.groups_of_all_types(deadline)

    def groups_of_all_types(self, deadline: float) -> Collection[str]:
        self._raise_if_silent()
        return [each for each in self._cluster.groups(deadline) if not each.startswith(OWN_GROUPS)]

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Mapping[str, Answer]:
        """Return what *groups* have committed; things happen before and after."""
        self._driver.pause()
        self._raise_if_silent()
        found = {group: self._of(group) for group in groups}
        self._driver.pause()
        return found

    def _raise_if_silent(self) -> None:
        if self._cluster.is_unreadable:
            raise ClusterError(self.alias, "does not answer")

    def _of(self, group: str) -> Answer:
        is_for_now = self._world.unasked.get((self.alias, group))
        if is_for_now is not None:
            self.held[group] = (TransientError if is_for_now else ClusterError)(self.alias, f"{group}: no answer")
            return self.held[group]
        self.held[group] = held = dict[TopicPartition, Committed]()
        for record in self._cluster.stood:
            if (where := record.where).group == group:
                self.told[where] = record
                self.written[where] = Counter(self._world.written.get(where))
                held.pop(where.place, None)
                if record.offset != ABSENT:
                    held[where.place] = Committed(record.offset, record.metadata, record.leader_epoch)
        return held


class _NotWriting:
    """Held while coordinators are asked: their cluster is not written to, and nobody waits for that in one thread."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self._driver, self._alias = driver, alias

    def __enter__(self) -> None:
        self._lock: Any = self._driver.reconciler.writing_to(self._alias)
        assert self._lock.acquire(blocking=False)
        self._was_busy, self._driver.is_busy = self._driver.is_busy, True

    def __exit__(self, *_problem: object) -> None:
        self._driver.is_busy = self._was_busy
        self._lock.release()


class PollJudge(AnyJudge):
    """Judges the author and the times of what is polled."""

    def __init__(self, driver: SyncDriver, coordinators: Coordinators) -> None:
        super().__init__(driver, coordinators.alias)
        self._coordinators = coordinators
        self.reach = driver.persisted.reach_of_polls[self.alias]
        self._is_first = True
        self._written: dict[Position, Counter[int]] = {}  # by us, up to the poll before

    def look(self, batch: Any, is_own: list[bool]) -> None:
        """Raise Violation where a commit counts as another client's, or as made later than it was, or before."""
        records = batch.commit_records
        columns = (getattr(records, name).tolist() for name in ("committed_at_ms", "made_ms"))
        for key, is_ours, since_ms, made_ms in zip(batch.keys, is_own, *columns, strict=True):
            record = self._coordinators.told[Position(self.alias, key.group_id, key.topic_partition)]
            true_ms = record.true_ms + self.driver.skew_ms
            record.error_ms, record.is_polled = max(made_ms - since_ms, record.error_ms or 0), True
            self.reach[record.log_partition] = max(record.log_offset + 1, self.reach.get(record.log_partition, 0))
            if not is_ours and not since_ms <= true_ms <= made_ms:
                raise Violation("made", f"{record}: {true_ms} is outside {since_ms} to {made_ms}")
            if record.offset != ABSENT:
                self._look_at_author(record, is_own=is_ours)
                self._note(record, since_ms, is_own=is_ours)
        self._written |= self._coordinators.written

    def _look_at_author(self, record: SimRecord, *, is_own: bool) -> None:
        swapped, is_echo = self.swapped(record, is_own=is_own), self.is_echo(record, is_own)
        if is_own and not record.is_ours:
            swapped[record.offset] += 0  # the log may bring it, too
            if not is_echo and not self._may_be_ours(record.where, record.offset):
                raise Violation("author", f"the group's {record} counts as ours")

    def _may_be_ours(self, where: Position, offset: int) -> bool:
        """Return whether we, or the driver before, may have written an offset since the poll before."""
        is_known = self.driver.is_ready.is_set() and where in self._written
        if not is_known or (where, offset) in self.world.doubted:
            return True
        return self._coordinators.written[where][offset] > self._written[where][offset]

    def _note(self, record: SimRecord, since_ms: int, *, is_own: bool) -> None:
        """Note a commit by the times that the sync knows, and whether it is seen to go back."""
        world, where = self.world, record.where
        before = self.driver.acknowledged.pop(where, self.driver.persisted.placed.get(where, ABSENT))
        if is_own:
            return
        if record.offset < before:
            world.rewound_ms[where], world.noticed[where] = record.true_ms, record.log_offset
        if not record.is_ours:
            world.made[where, record.offset, since_ms] = record

    def check_written_down(self) -> None:
        """Raise Violation where a coordinator holds something else than is written down now, or has to answer first."""
        held, last = self._coordinators.held, self.driver.persisted.last
        known = {where: offset for where, (offset, _) in last.items() if where.cluster == self.alias}
        answers = {
            Position(self.alias, group, place): committed.offset
            for group, places in held.items()
            if not isinstance(places, ClusterError)
            for place, committed in places.items()
        }
        if self._is_first and any(isinstance(each, TransientError) for each in held.values()):
            raise Violation("not polled", f"{self.alias}: {held}")
        self._is_first = False
        for where in sorted(known.keys() | answers.keys()):
            found, wanted = known.get(where, ABSENT), answers.get(where, ABSENT)
            is_refused = isinstance(held.get(where.group), ClusterError)
            if found != wanted and not is_refused and self.driver.config.is_group_included(where.group):
                raise Violation("not polled", f"{where}: {wanted}, and {found} is known")


class PolledIngester(Ingester):
    """Polls by the job's own ingester, and writes down as the simulated one does."""

    judge: PollJudge

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        super().__init__(driver, alias)
        coordinators: Any = Coordinators(driver, alias)
        writing: Any = _NotWriting(driver, alias)
        now = lambda: driver.world.clock_ms[0] / 1000  # noqa: E731
        poller = CommitPoller(coordinators, driver.state, driver.config.is_group_included, writing, now)
        tables: Any = driver.tables
        self._polls = PollIngester(alias, tables, None, poller, driver.state, driver.lives)  # type: ignore[arg-type]
        self.judge = PollJudge(driver, coordinators)
        self.told = dict(self.judge.reach)

    def is_whole(self, batch_id: int) -> bool:
        """Return True: a poll leaves nothing for the next."""
        return True

    def decode(self, records: Any, batch_id: int) -> Any:
        return self._polls.decode(records, batch_id)

    def restore_lost(self, state: SyncState, batch: Any) -> None:
        """Let things happen: the cluster is written to again."""
        self.driver.pause()

    def write(self, batch: Any, is_own: np.ndarray[Any, Any]) -> dict[str, int]:
        """Judge the commits, and write them down."""
        self.judge.look(batch, is_own.tolist())
        self.write_down(batch, is_own.tolist(), {})
        self.judge.check_written_down()
        return {}
