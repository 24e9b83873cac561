"""Tests the prediction of ``plan``, what a move would repeat and lose, by the contents of records.

Some records are read at the target around the offset t where the group would start (:func:`start_of`), and at the
source around its commit c. No group is joined, nothing is committed::

    source X   … read below c │ unread from c on …
    target Y   … below t      │ from t on …

    at Y from t on, and at X below c        repeated
    at Y below t, and at X at c or above    lost

Two records are the same if key, value and, if the mirror keeps them, timestamp are. Headers and the index are not
used. Errs to undecided: so is a record whose contents are on both sides of c, or not among the source's records.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.judge import Judge
from offset_sync.cutover.output import GroupAnswer
from offset_sync.cutover.plan import CutoverStep, Direction, PartitionStatus, Problem, Step
from offset_sync.kafka.tail_reader import TailReader, TailRecord, Tails
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason, Said
from offset_sync.model.values import OffsetRange, Status, TopicPartition
from offset_sync.state.sync_state import frontier
from offset_sync.status.live_state import LiveState

logger = logging.getLogger(__name__)
_AT_SOURCE = 3
"""How many times as many records are read at the source as at the target: the logs may cross."""
_AT_ONCE_S = 20.0
_FEW = 10
"""Fewer records of a log, left by retention or compaction, may have no counterpart at the other cluster."""


class Found(NamedTuple):
    """Counts of a partition's records by contents.

    *strangers* are the undecided records that are not among the source's; *below* counts those of the target
    below the start, *read* and *unread* those of the source.
    """

    looked_at: int
    repeated: int
    lost: int
    undecided: int
    strangers: int = 0
    below: int = 0
    read: int = 0
    unread: int = 0

    @property
    def is_apart(self) -> bool:
        """True if no record read at the target is among those read at the source, and there are more than a few."""
        return _FEW <= self.looked_at == self.strangers


def compare(
    source: Sequence[TailRecord],
    target: Sequence[TailRecord],
    committed: int,
    start: int,
    *,
    keeps_timestamps: bool = True,
) -> Found:
    """Return what a group that has *committed* at the source would repeat and lose at the target from *start* on.

    Timestamps set by a broker (LogAppendTime) are ignored. Without timestamps a later record may have the contents of
    an earlier one, so contents that occur twice on a side are undecided.
    """
    keeps_timestamps &= not any(each.is_appended for each in (*source, *target))

    def contents(record: TailRecord) -> tuple[bytes | None, bytes | None, int]:
        content = record.content
        return content.key, content.value, content.timestamp_ms if keeps_timestamps else 0

    read = Counter(contents(each) for each in source if each.content.offset < committed)
    unread = Counter(contents(each) for each in source if each.content.offset >= committed)
    there = Counter(map(contents, target))
    repeated = lost = undecided = strangers = below = 0
    for record in target:
        same, is_below = contents(record), record.content.offset < start
        is_read, is_unread = same in read, same in unread
        is_ambiguous = not keeps_timestamps and max(there[same], read[same], unread[same]) > 1
        is_undecided = is_ambiguous or is_read == is_unread
        undecided += is_undecided
        strangers += not is_read and not is_unread
        below += is_below
        repeated += not is_undecided and is_read and not is_below
        lost += not is_undecided and is_unread and is_below
    return Found(len(target), repeated, lost, undecided, strangers, below, read.total(), unread.total())


@dataclass(frozen=True)
class Rehearsed:
    """One partition of a group; *found* is None where its records could not be read in time, at *unread_at*."""

    status: PartitionStatus
    found: Found | None
    unread_at: str = "both clusters"

    @property
    def problem(self) -> Said | None:
        """The difference from the prediction, None if there is none. Errs to a problem: records that were not read."""
        if self.found is None:
            return Reason.NOT_READ_AT(self.unread_at)
        found, status = self.found, self.status
        # Records that are not mirrored yet are not below any start.
        skipped = max((status.lost or 0) - status.not_mirrored, 0)
        if found.lost > skipped:
            return Reason.LOSES_MORE(found.lost, skipped)
        if status.duplicates_at_most is not None and found.repeated > status.duplicates_at_most:
            return Reason.REPEATS_MORE(found.repeated, status.duplicates_at_most)
        is_unread_missing = found.unread > max(status.lost or 0, status.not_mirrored)
        is_near = (status.duplicates or 0) + skipped < found.looked_at  # by the plan
        if found.is_apart and is_near and (is_unread_missing or found.read >= found.below >= _FEW):
            return Reason.IN_COMMON(found.looked_at)
        return None

    def to_step(self) -> CutoverStep:
        """Return it as a row of cutovers."""
        status, found, problem = self.status, self.found, self.problem
        looked_at = Reason.COMPARED(found.looked_at, found.undecided) if found is not None else ""
        return replace(
            status.step(Step.REHEARSE, problem),
            detail=problem or looked_at,
            target_offset=start_of(status),
            duplicates=found.repeated if found is not None else None,
            lost=found.lost if found is not None else None,
        )


def start_of(status: PartitionStatus) -> int | None:
    """Return where the group would start at the target: at what that holds, for which *status* has the costs.

    Without costs at the translation: the target holds nothing, an offset outside its log, or the translation of a
    commit that is not captured yet.
    """
    is_cost_known = status.duplicates is not None and status.target_offset is not None
    return status.target_offset if is_cost_known else status.wanted_offset


class Rehearsal:
    """Reads at *source* and *target*, *records* on each side of a start, for *seconds* in all."""

    def __init__(
        self,
        source: TailReader,
        target: TailReader,
        frontiers: Mapping[TopicPartition, int],
        *,
        records: int,
        seconds: float,
        keeps_timestamps: bool = True,
    ) -> None:
        """*frontiers* are the ends of the target's index at the time of the prediction."""
        self._source, self._target, self._frontiers = source, target, frontiers
        self._records, self._ends_at = records, time.monotonic() + seconds
        self._keeps_timestamps = keeps_timestamps

    def rehearse(self, partitions: Sequence[PartitionStatus]) -> list[Rehearsed]:
        """Return the results for those *partitions* of one group that have an answer."""
        known = [each for each in partitions if each.wanted_offset is not None and each.status is not Status.WITHHELD]
        here, there = dict[TopicPartition, OffsetRange](), dict[TopicPartition, OffsetRange]()
        for each in known:
            place, start, many = each.topic_partition, start_of(each) or 0, _AT_SOURCE * self._records
            end = max(start, min(start + self._records, self._frontiers.get(place, 0)))
            here[place] = OffsetRange(max(0, each.source_offset - many), each.source_offset + many)
            there[place] = OffsetRange(max(0, start - self._records), end)
        left = min(self._ends_at - time.monotonic(), _AT_ONCE_S)
        if left <= 0 or not known:
            return [Rehearsed(each, None) for each in known]
        at_source, at_target = _read(self._source, here, left), _read(self._target, there, left)
        sides = {"the source": at_source, "the target": at_target}
        rehearsed = []
        for each in known:
            unread = [side for side, tails in sides.items() if each.topic_partition in tails.unread]
            found = None if unread else self._found(each, at_source, at_target)
            rehearsed.append(Rehearsed(each, found, " and ".join(unread)))
        return rehearsed

    def _found(self, status: PartitionStatus, at_source: Tails, at_target: Tails) -> Found:
        here, there = (tails.records.get(status.topic_partition, ()) for tails in (at_source, at_target))
        start = start_of(status) or 0
        return compare(here, there, status.source_offset, start, keeps_timestamps=self._keeps_timestamps)


def _read(reader: TailReader, ranges: Mapping[TopicPartition, OffsetRange], seconds: float) -> Tails:
    """Return the records of *ranges*; all logs are unread where no record came, as of a topic that is deleted."""
    try:
        return reader.read(ranges, seconds)
    except ClusterError as error:
        logger.warning("%s", error)
        return Tails(unread=frozenset(ranges))


def open_rehearsal(config: Config, live: LiveState, direction: Direction, records: int, seconds: float) -> Rehearsal:
    """Return a rehearsal of moves in *direction*; to be called after the prediction by *live*."""
    source, target = (TailReader(each, config.admin_options(each), config.names) for each in direction)
    state = live.state
    with state.lock:
        places = {key.topic_partition for key in state.offsets.keys}
        frontiers = {place: frontier(state.index, direction.target, place) for place in places}
    return Rehearsal(source, target, frontiers, records=records, seconds=seconds, keeps_timestamps=config.is_stamped)


def rehearse_groups(
    rehearsal: Rehearsal,
    statuses: Mapping[str, Sequence[PartitionStatus]],
    journal: TableJournal,
) -> dict[str, list[Rehearsed]]:
    """Rehearse the moves of groups; *statuses* are the predictions for the partitions of each."""
    found = dict[str, list[Rehearsed]]()
    for group_id, partitions in statuses.items():
        found[group_id] = rehearsal.rehearse(partitions)
        journal.record([each.to_step() for each in found[group_id]])
    return found


def answers_of(
    found: Mapping[str, Sequence[Rehearsed]], partitions: Mapping[str, int], judge: Judge
) -> list[GroupAnswer]:
    """Return what is said of each group, of which *partitions* counts all."""
    answers = []
    for group_id, rehearsed in found.items():
        problems = [
            Problem(group_id, why, judge.name(each.status.topic_partition))
            for each in rehearsed
            if (why := each.problem) is not None
        ]
        answers.append(GroupAnswer(group_id, _counts(rehearsed, partitions[group_id]), problems))
    return answers


def _counts(rehearsed: Sequence[Rehearsed], partitions: int) -> dict[str, int]:
    found = [each.found for each in rehearsed if each.found is not None]
    return {
        "partitions": partitions,
        "rehearsed": len(found),
        "records": sum(each.looked_at for each in found),
        "predicted": sum(each.status.duplicates or 0 for each in rehearsed),
        "repeats": sum(each.repeated for each in found),
        "lost": sum(each.lost for each in found),
        "undecided": sum(each.undecided for each in found),
    }
