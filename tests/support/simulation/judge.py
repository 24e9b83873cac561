"""Are the author and the time that the sync makes of each record of commits right, and may the commit count yet?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from offset_sync.model.values import Outcome
from offset_sync.state.last_translations import IS_HELD
from offset_sync.sync.reconciled import Reconciliation
from simulation.knowledge import Span
from simulation.logs import Position, SimRecord
from simulation.oracle import Violation

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver


Genuine = tuple[tuple[str, str, int], Span]
_COUNTS_MS = 600_000
"""So long a measurement of a clock counts at least."""


def genuine(batch: Any, is_own: list[bool], told: Mapping[int, int] = MappingProxyType({})) -> Iterator[Genuine]:
    """Yield key and times of each commit that counts as a group's own; not of those that were *told* by a table."""
    records, names = batch.commit_records, ("is_position", "made_ms", "committed_at_ms", "log_partition", "log_offset")
    columns = (getattr(records, name).tolist() for name in names)
    for key, is_ours, is_position, made_ms, at_ms, number, offset in zip(batch.keys, is_own, *columns, strict=True):
        if is_position and not is_ours and offset >= told.get(number, 0):
            yield key, (at_ms if batch.is_polled else made_ms, made_ms)


def begin_again(batch: Any, reach: dict[int, int]) -> None:
    """Forget the *reach* of partitions that *batch* has found in another life: offsets of before are given again."""
    for place in batch.looked.begun:
        reach.pop(place.partition, None)


def extend(batch: Any, reach: dict[int, int]) -> None:
    """Note how far *batch* has read, in present lives."""
    begin_again(batch, reach)
    records = batch.commit_records
    for number, offset in zip(records.log_partition.tolist(), records.log_offset.tolist(), strict=True):
        reach[number] = max(offset + 1, reach.get(number, 0))


class AnyJudge:
    """Judges the micro-batches of one cluster; *reach* is how far they have read its log."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self.driver, self.alias, self.world = driver, alias, driver.world
        self.reach: dict[int, int] = {}

    def note_start(self) -> None:
        """Note that the query is started: what it reads first may be as old as the log."""

    def note_ended(self) -> None:
        """Note that a micro-batch has ended."""

    def note_read(self, batch: Any) -> None:
        """Note how far another driver has read."""

    def is_echo(self, record: SimRecord, is_own: bool) -> bool:
        """Return whether the record before was ours and had the same value; then it is the same position."""
        before = self.world.ours.get(record.where)
        self.world.ours[record.where] = record.offset if is_own else None
        return before == record.offset

    def swapped(self, record: SimRecord, *, is_own: bool) -> Counter[int]:
        """Return which commits of a group were taken for ours; raises Violation for one of ours that was not."""
        found = self.world.swapped.setdefault(record.where, Counter())
        if is_own and not record.is_ours:
            record.is_taken_for_ours = True
            found[record.offset] += 0  # of two equal ones the first counts as ours, whoever made it
        # Where drivers' clocks are minutes apart a note may seem older than what was read.
        is_noted = record.writer is self.driver.process or self.world.shape.faults.isdisjoint({"polls", "clocks"})
        if not is_own and record.is_ours and is_noted and not found:
            raise Violation("author", f"our {record} counts as the group's")
        return found


class Judge(AnyJudge):
    """Judges what is read of a log."""

    _ended_ms: tuple[int | None, int | None] = None, None
    _reads_on = False  # the last micro-batch read all that there was when it was planned
    _dated = -1, False  # the last one that was looked at, and whether the one before it has read on
    _measured: tuple[int, int] | None = None  # when its clock was measured last, and how well

    def note_start(self) -> None:
        self._reads_on, self._dated, self._ended_ms = False, (self._dated[0], False), (None, None)

    def note_ended(self) -> None:
        self._ended_ms = self._ended_ms[1], self.driver.now_ms()

    def note_read(self, batch: Any) -> None:
        extend(batch, self.reach)

    def look(self, batch: Any, is_own: list[bool]) -> None:
        """Raise Violation where a record was made by another client, or at another time."""
        plan, now_ms = self.driver.persisted.of[self.alias].plan, self.driver.now_ms()
        if plan.number != self._dated[0]:  # one that is tried again is as young as it was
            self._dated, self._reads_on = (plan.number, self._reads_on), plan.is_whole
        since_ms = self._ended_ms[0] if self._dated[1] and not batch.looked.again else None
        extend(batch, self.reach)
        made_ms = batch.commit_records.made_ms.tolist()
        is_echo = [self.is_echo(*each) for each in zip(batch.records, is_own, strict=True)]
        # What counts as ours first: of two partitions, the later record may come before it.
        for row in sorted(range(len(is_own)), key=lambda row: not is_own[row]):
            record: SimRecord = batch.records[row]
            error_ms = self._look_at_time(record, made_ms[row], since_ms, now_ms)
            record.error_ms = max(error_ms, record.error_ms or 0)  # two drivers may have read it
            self.world.noticed[record.where] = max(record.log_offset, self.world.noticed.get(record.where, 0))
            if record.offset >= 0:
                self._look_at_author(record, is_own=is_own[row], is_echo=is_echo[row])

    def _look_at_time(self, record: SimRecord, made_ms: int, since_ms: int | None, now_ms: int) -> int:
        true_ms, cluster = record.true_ms + self.driver.skew_ms, self.world.clusters[self.alias]
        error_ms, most_ms = abs(made_ms - true_ms), cluster.widest_ms + 2 * cluster.most_skew_ms
        if made_ms > now_ms or (since_ms is not None and not since_ms <= min(made_ms, true_ms)):
            raise Violation("made", f"{record}: {made_ms}, really {true_ms}, is outside {since_ms} to {now_ms}")
        if since_ms is not None:
            cluster.widest_ms = max(cluster.widest_ms, now_ms - since_ms)
            self._measured = now_ms, now_ms - since_ms
            return error_ms
        most_ms += abs(self.driver.skew_ms)
        if self._measured is not None and not cluster.was_set and now_ms - self._measured[0] < _COUNTS_MS:
            most_ms = self._measured[1]
        if error_ms > most_ms:
            raise Violation("made", f"{record}: {made_ms} was {true_ms}")
        return error_ms

    def _look_at_author(self, record: SimRecord, *, is_own: bool, is_echo: bool) -> None:
        swapped = self.swapped(record, is_own=is_own)
        if is_own and record.is_ours and record.writer is not self.driver.process:
            swapped[record.offset] += 0  # of a driver that died before it said so: it may be taken for a later one
        if is_own == record.is_ours or not is_own or is_echo:
            return
        if "second" in self.world.shape.faults:
            self.world.disputed.add((record.where.group, record.where.place.topic))
        # What was there before this driver began, and is read late as its cluster was silent, may be left of another.
        if self.driver.is_ready.is_set() and record.true_ms >= self.driver.began_ms:
            swapped[record.offset] += 1
            if swapped[record.offset] > self.world.tried[record.where, record.offset]:
                raise Violation("author", f"the group's {record} counts as ours")


_COMMITTED = int(Outcome.COMMITTED)
Answered = set[tuple[SimRecord, str]]
"""Commits of groups that were answered once, by whatever driver, and for which target."""


class UnreadCommits:
    """The contents of the clusters' commit logs at a driver's start, and what it knew of them from the tables."""

    def __init__(self, driver: SyncDriver, answered: Answered) -> None:
        self._driver, self._answered = driver, answered
        state, made = driver.state, driver.world.made
        self._stood = dict(driver.world.genuine)
        self._known = {
            made.get((where, offset, at_ms))
            for alias, commits in state.offsets.clusters.items()
            for key, *said in zip(state.offsets.keys, *commits.position(state.all_rows()), strict=True)
            for where, offset, at_ms in [(Position(alias, key.group_id, key.topic_partition), *map(int, said))]
        }

    def check(self, reconciliation: Reconciliation) -> None:
        """Raise Violation where a target was changed for a commit that may not have been the newest at the start."""
        moved, outcome = reconciliation.translated, reconciliation.outcome
        is_changed = (outcome == _COMMITTED) & (reconciliation.previous != moved.answers.wanted)
        for row in IS_HELD[outcome].nonzero()[0].tolist():
            said = self._driver.said(moved, row)[1]
            if said is None:
                continue  # what we brought to its home ourselves
            if is_changed[row] and (said, moved.target) not in self._answered:
                self._check_commit(said)
            self._answered.add((said, moved.target))

    def _check_commit(self, said: SimRecord) -> None:
        unread, stood = self._driver.state.unread.aliases, self._stood.get(said.where)
        is_of_before = stood is not None and said.true_ms <= stood.true_ms
        newer = [alias for alias in unread - {said.where.cluster} if self._stood_after(said, alias)]
        if is_of_before and newer:
            raise Violation("counted too early", f"{said}: {newer[0]} has a newer commit, unread")
        is_old = said.where.cluster in unread and stood is not None and said.true_ms < stood.true_ms
        if is_old and said not in self._known:
            raise Violation("counted too early", f"{said}: its log has a newer commit, unread")

    def _stood_after(self, said: SimRecord, alias: str) -> bool:
        other = self._stood.get(said.where._replace(cluster=alias))
        return other is not None and other.true_ms > said.true_ms
