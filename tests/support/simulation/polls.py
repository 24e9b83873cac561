"""Commits that are polled: the real poller among coordinators, and what it has to make of their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from offset_sync.ingest.polled_commits import CommitPoller, PollIngester
from offset_sync.kafka.requests import Committed, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, OWN_GROUPS, GroupPartition, TopicPartition
from offset_sync.state.sync_state import SyncState
from simulation.commit_ingester import Ingester
from simulation.commit_records import SimRecord
from simulation.oracle import Violation
from simulation.world import Position, Stood

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver

Answer = Mapping[TopicPartition, Committed] | ClusterError


class Coordinators:
    """Those of one cluster, asked by a driver; *told* has the record behind each answer, or that of its deletion."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self.alias, self._driver = alias, driver
        self._world, self._cluster = driver.world, driver.world.clusters[alias]
        self.told: dict[Position, Stood] = {}
        self.written: dict[Position, Counter[int]] = {}  # by us, up to the last answer
        self.held: dict[str, Answer] = {}  # of the present poll

    def groups(self, deadline: float) -> Collection[str]:
        """Return the groups that have committed anything; things happen before the answer."""
        self._driver.pause()
        self.held.clear()
        return self.groups_of_all_types(deadline)

    def groups_of_all_types(self, deadline: float) -> Collection[str]:
        """Return the same at once."""
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
        is_for_now = self._world.polls.unasked.get((self.alias, group))
        if is_for_now is not None:
            self.held[group] = (TransientError if is_for_now else ClusterError)(self.alias, f"{group}: no answer")
            return self.held[group]
        self.held[group] = held = dict[TopicPartition, Committed]()
        for stood in self._cluster.stood:
            if stood.where.group == group:
                self.told[stood.where] = stood
                self.written[stood.where] = Counter(self._world.polls.written.get(stood.where))
                held.pop(stood.where.place, None)
                record = self.record(stood)
                if record.offset is not None:
                    held[stood.where.place] = Committed(record.offset, record.metadata, record.leader_epoch)
        return held

    def record(self, stood: Stood) -> SimRecord:
        """Return the record of commits that something stood in."""
        found = self._cluster.parts[stood.log_partition][stood.log_offset]
        assert isinstance(found, SimRecord)
        return found


class _NotWriting:
    """Held while coordinators are asked: their cluster is not written to, and nobody waits for that in one thread."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self._driver, self._alias = driver, alias

    def __enter__(self) -> None:
        self._lock: Any = self._driver.reconciler.writing_to(self._alias)
        is_free = self._lock.acquire(blocking=False)
        assert is_free
        self._was_busy, self._driver.is_busy = self._driver.is_busy, True

    def __exit__(self, *_problem: object) -> None:
        self._driver.is_busy = self._was_busy
        self._lock.release()


class PollJudge:
    """Judges the author and the times of what is polled."""

    def __init__(self, driver: SyncDriver, coordinators: Coordinators) -> None:
        self._driver, self._coordinators, self._alias = driver, coordinators, coordinators.alias
        self.reach = driver.persisted.reach_of_polls[self._alias]
        self._is_first = True
        self._written: dict[Position, Counter[int]] = {}  # by us, up to the poll before

    def note_ended(self) -> None:
        """Do nothing: no clock is measured."""

    def note_read(self, batch: Any) -> None:
        """Do nothing: what another driver has polled is not judged again."""

    def look(self, batch: Any, is_own: list[bool]) -> None:
        """Raise Violation where a commit counts as another client's, or as made later than it was, or before."""
        records = batch.commit_records
        columns = (getattr(records, name).tolist() for name in ("offset", "committed_at_ms", "made_ms"))
        for key, is_ours, offset, since_ms, made_ms in zip(batch.keys, is_own, *columns, strict=True):
            where = Position(self._alias, key.group_id, key.topic_partition)
            stood = self._coordinators.told[where]
            self._look_at(stood, (since_ms, made_ms), is_own=is_ours)
            if offset != ABSENT:
                self._note(stood, (offset, since_ms), is_own=is_ours)
        self._written |= self._coordinators.written

    def check_written_down(self) -> None:
        """Raise Violation where a coordinator holds something else than is written down now, or has to answer first."""
        held, is_included = self._coordinators.held, self._driver.config.is_group_included
        known = {
            key: offset for (alias, key), (offset, _) in self._driver.persisted.last.items() if alias == self._alias
        }
        answers = {
            GroupPartition(group, *place): committed.offset
            for group, places in held.items()
            if not isinstance(places, ClusterError)
            for place, committed in places.items()
        }
        if self._is_first and any(isinstance(each, TransientError) for each in held.values()):
            raise Violation("not polled", f"{self._alias}: {held}")
        self._is_first = False
        for key in sorted(known.keys() | answers.keys()):
            found, wanted = known.get(key, ABSENT), answers.get(key, ABSENT)
            is_refused = isinstance(held.get(key.group_id), ClusterError)
            if found != wanted and not is_refused and is_included(key.group_id):
                raise Violation("not polled", f"{key} at {self._alias}: {wanted}, and {found} is known")

    def _look_at(self, stood: Stood, span: tuple[int, int], *, is_own: bool) -> None:
        world, (since_ms, made_ms) = self._driver.world, span
        record, where = self._coordinators.record(stood), stood.where
        at, true_ms = (self._alias, stood.log_partition, stood.log_offset), record.true_ms + self._driver.skew_ms
        world.made_error[at] = max(made_ms - since_ms, world.made_error.get(at, 0))
        world.polls.found.add(at)
        self.reach[stood.log_partition] = max(stood.log_offset + 1, self.reach.get(stood.log_partition, 0))
        if not is_own and not since_ms <= true_ms <= made_ms:
            raise Violation("made", f"{record} at {self._alias}: {true_ms} is outside {since_ms} to {made_ms}")
        if record.offset is None:
            return
        swapped = world.swapped.setdefault(where, Counter())
        if is_own and not record.is_ours:
            world.taken_for_ours.add(at)
            swapped[record.offset] += 0  # the log may bring it, too
            if not self._may_be_ours(where, record.offset):
                raise Violation("author", f"{where}: the group's {record.offset} counts as ours")
        elif not is_own and record.is_ours and record.writer is self._driver.process and not swapped:
            raise Violation("author", f"{where}: our {record.offset} counts as the group's, and no driver has died")

    def _may_be_ours(self, where: Position, offset: int) -> bool:
        """Return whether we have written an offset since the poll before, or may have written it.

        A driver that starts may know of writes of the one before.
        """
        if (
            not self._driver.is_ready.is_set()
            or where not in self._written
            or (where, offset) in self._driver.world.polls.doubted
        ):
            return True
        return self._coordinators.written[where][offset] > self._written[where][offset]

    def _note(self, stood: Stood, commit: tuple[int, int], *, is_own: bool) -> None:
        """Note a commit by the times that the sync knows, and whether it is seen to go back."""
        world, where, (offset, since_ms) = self._driver.world, stood.where, commit
        before = self._driver.acknowledged.pop(where, self._driver.persisted.placed.get(where, ABSENT))
        if is_own:
            return
        if offset < before:
            world.rewound_ms[where], world.polls.noticed[where] = stood.true_ms, stood.log_offset
        world.polls.made_at[where, offset, since_ms] = self._coordinators.record(stood).at_ms


class PolledIngester(Ingester):
    """Polls by the job's own ingester, and writes down as the simulated one does."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        super().__init__(driver, alias)
        self._coordinators = Coordinators(driver, alias)
        writing: Any = _NotWriting(driver, alias)
        now = lambda: driver.world.clock_ms[0] / 1000  # noqa: E731
        poller = CommitPoller(self._coordinators, driver.state, driver.config.is_group_included, writing, now)
        tables: Any = driver.tables
        nothing: Any = None
        self._polls = PollIngester(alias, tables, nothing, poller, driver.state, driver.lives)
        self.judge: Any = PollJudge(driver, self._coordinators)
        self.told = dict(self.judge.reach)

    def note_start(self) -> None:
        """Do nothing: a poll has all."""

    def is_whole(self, batch_id: int) -> bool:
        """Return True: a poll leaves nothing for the next."""
        return True

    def decode(self, records: Any, batch_id: int) -> Any:
        """Poll."""
        return self._polls.decode(records, batch_id)

    def restore_lost(self, state: SyncState, batch: Any) -> None:
        """Let things happen: the cluster is written to again."""
        self.driver.pause()

    def write(self, batch: Any, is_own: np.ndarray[Any, Any]) -> dict[str, int]:
        """Judge the commits, and write them down."""
        self.judge.look(batch, is_own.tolist())
        self._write_down(batch, is_own.tolist(), {})
        self.judge.check_written_down()
        return {}
