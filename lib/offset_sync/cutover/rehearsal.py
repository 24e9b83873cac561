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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.judge import Judge
from offset_sync.cutover.output import GroupResult
from offset_sync.cutover.plan import CutoverStep, PartitionStatus, Problem, Result, Step
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


def compare(
    source: Sequence[TailRecord],
    target: Sequence[TailRecord],
    committed: int,
    start: int,
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
    judged = []
    for record in target:
        same, is_below = contents(record), record.content.offset < start
        is_read, is_unread = same in read, same in unread
        is_ambiguous = not keeps_timestamps and max(there[same], read[same], unread[same]) > 1
        is_known = is_read != is_unread and not is_ambiguous
        is_repeated, is_lost = is_known and is_read and not is_below, is_known and is_unread and is_below
        judged.append((is_repeated, is_lost, not is_known, not (is_read or is_unread), is_below))
    counts = [sum(each) for each in zip(*judged, strict=True)] or [0] * 5
    return Found._make([len(target), *counts, read.total(), unread.total()])


def difference(status: PartitionStatus, found: Found) -> Said | None:
    """Return what a partition's records contradict of the prediction *status*, None if nothing."""
    # Records that are not mirrored yet are not below any start.
    skipped = max((status.lost or 0) - status.not_mirrored, 0)
    if found.lost > skipped:
        return Reason.LOSES_MORE(found.lost, skipped)
    if status.duplicates_at_most is not None and found.repeated > status.duplicates_at_most:
        return Reason.REPEATS_MORE(found.repeated, status.duplicates_at_most)
    is_unread_missing = found.unread > max(status.lost or 0, status.not_mirrored)
    is_near = (status.duplicates or 0) + skipped < found.looked_at  # by the plan
    is_apart = _FEW <= found.looked_at == found.strangers  # none read at the target is among those of the source
    if is_apart and is_near and (is_unread_missing or found.read >= found.below >= _FEW):
        return Reason.IN_COMMON(found.looked_at)
    return None


def start_of(status: PartitionStatus) -> int:
    """Return where the group would start at the target: at what that holds, for which *status* has the costs.

    Without costs at the translation: the target holds nothing, an offset outside its log, or the translation of a
    commit that is not captured yet.
    """
    is_cost_known = status.duplicates is not None and status.target_offset is not None
    return (status.target_offset if is_cost_known else status.wanted_offset) or 0


@dataclass
class Rehearsal:
    """Reads at *source* and *target*, *records* on each side of a start, until *ends_at* (``time.monotonic``).

    *frontier* is the end of the target's index, as for the prediction; *journal* gets the results.
    """

    source: TailReader
    target: TailReader
    frontier: Callable[[TopicPartition], int]
    judge: Judge
    journal: TableJournal
    records: int
    ends_at: float
    keeps_timestamps: bool = True

    def rehearse(self, group_id: str, partitions: Sequence[PartitionStatus]) -> GroupResult:
        """Return the results for those *partitions* of a group that have an answer.

        Errs to a problem: so are records that were not read in time.
        """
        known = [each for each in partitions if each.wanted_offset is not None and each.status is not Status.WITHHELD]
        here, there = dict[TopicPartition, OffsetRange](), dict[TopicPartition, OffsetRange]()
        for each in known:
            place, start, many = each.key.topic_partition, start_of(each), _AT_SOURCE * self.records
            end = max(start, min(start + self.records, self.frontier(place)))
            here[place] = OffsetRange(max(0, each.source_offset - many), each.source_offset + many)
            there[place] = OffsetRange(max(0, start - self.records), end)
        left_s = min(self.ends_at - time.monotonic(), _AT_ONCE_S)
        sides = {"the source": _read(self.source, here, left_s), "the target": _read(self.target, there, left_s)}
        names = ("partitions", "rehearsed", "records", "predicted", "repeats", "lost", "undecided")
        counts = Counter(dict.fromkeys(names, 0) | {"partitions": len(partitions)})
        problems, steps = list[Problem](), list[CutoverStep]()
        for each in known:
            place, start, found = each.key.topic_partition, start_of(each), None
            counts.update(predicted=each.duplicates or 0)
            if unread := [side for side, tails in sides.items() if place in tails.unread]:
                problem: Said | None = Reason.NOT_READ_AT(" and ".join(unread))
            else:
                at_source, at_target = (tails.records.get(place, ()) for tails in sides.values())
                found = compare(at_source, at_target, each.source_offset, start, self.keeps_timestamps)
                problem = difference(each, found)
                records, repeats, lost, undecided = found[:4]
                counts.update(rehearsed=1, records=records, repeats=repeats, lost=lost, undecided=undecided)
            if problem is not None:
                problems.append(Problem(group_id, problem, self.judge.name(each.key)))
            detail = problem or (Reason.COMPARED(found.looked_at, found.undecided) if found else None)
            result, costs = Result.FAILED if problem else Result.DONE, found[1:3] if found else ()
            steps.append(CutoverStep(*each.key, Step.REHEARSE, result, detail, each.source_offset, start, *costs))
        self.journal.record(steps)
        return GroupResult(group_id, counts, problems)


def _read(reader: TailReader, ranges: Mapping[TopicPartition, OffsetRange], seconds: float) -> Tails:
    """Return the records of *ranges*; all logs are unread where no record came, as of a topic that is deleted."""
    try:
        return reader.read(ranges, seconds) if seconds > 0 else Tails(unread=frozenset(ranges))
    except ClusterError as error:
        logger.warning("%s", error)
        return Tails(unread=frozenset(ranges))


def open_rehearsal(
    config: Config, live: LiveState, judge: Judge, journal: TableJournal, records: int, seconds: float
) -> Rehearsal:
    """Return a rehearsal of moves in one direction; to be called after the prediction by *live*."""
    source, target = (TailReader(each, config.admin_options(each), config.names) for each in judge.direction)
    ends = partial(frontier, live.state.index, judge.direction.target)
    ends_at = time.monotonic() + seconds
    return Rehearsal(source, target, ends, judge, journal, records, ends_at, config.is_stamped)
