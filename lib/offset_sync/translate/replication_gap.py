"""The replication gap: records of the source that the target does not have, which a move would leave behind.

Also what a group repeats, skips and leaves behind at its position in the target's log (:func:`measure`).

The source's segments of an origin less the target's, by identity::

    source X   x0 x1 x2 y0 x3 x4 x5       target Y   x0 x2 y0 x3
    skipped    x1 (the mirror has passed it: later ones are there)
    pending    x4 x5 (not mirrored yet)

A record that the mirror has passed may still come for a while, as in ``pieces``; until then it is pending. Errs to too
many: copies that the target's index has not read yet count as missing.

Paged logs are compared window by window of origin offsets, each of which meets few pages of either log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT
from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, records_below
from offset_sync.translate.index.stretches import cut_at
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.read_window import position_cost

NEVER_YOUNG = NO_END = int(np.iinfo(np.int64).max)
_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True)
class OffsetRanges(Columns):
    """Disjoint ranges ``[start, start + length)`` of a log by ascending *start*; arrays of shape (ranges,)."""

    start: Int64s
    length: Int64s

    @property
    def total(self) -> int:
        """How many records they hold."""
        return int(self.length.sum())

    def count_from(self, offset: Int64s) -> Int64s:
        """Return how many records are at or above each offset, shape (offsets,)."""
        return self.total - records_below(self.start, self.length, offset)

    def count_between(self, low: Int64s, high: Int64s) -> Int64s:
        """Return how many records are in each ``[low, high)``, shape (offsets,); none where it is empty."""
        found: Int64s = np.maximum(self.count_from(low) - self.count_from(high), 0)
        return found

    def from_offset(self, offset: int) -> OffsetRanges:
        """Return the ranges at or above *offset*."""
        cut = np.clip(offset - self.start, 0, self.length)
        kept = cut < self.length
        return OffsetRanges((self.start + cut)[kept], (self.length - cut)[kept])

    def below(self, offset: int) -> OffsetRanges:
        """Return the ranges below *offset*."""
        length = np.clip(offset - self.start, 0, self.length)
        return OffsetRanges(self.start[length > 0], length[length > 0])


@dataclass(frozen=True)
class ReplicationGap:
    """Records of one origin: those *pending* may still come, those *skipped* will not."""

    pending: OffsetRanges
    skipped: OffsetRanges

    def below(self, offset: int) -> ReplicationGap:
        """Return what is missing of the source's log below *offset*."""
        return ReplicationGap(self.pending.below(offset), self.skipped.below(offset))


class OffsetCounts:
    """Counts the records *at_or_above* each of the offsets *asked* for, of ranges that are added one by one.

    Both have shape (offsets,).
    """

    def __init__(self, asked: Int64s) -> None:
        self._asked = asked
        self.at_or_above = np.zeros(len(asked), np.int64)
        self.total, self.first = 0, NO_LIMIT

    def add(self, ranges: OffsetRanges) -> None:
        """Count *ranges*, which are disjoint from those before."""
        if len(ranges):
            self.at_or_above += ranges.count_from(self._asked)
            self.total, self.first = self.total + ranges.total, min(self.first, int(ranges.start[0]))


def replication_gaps(
    origin: int,
    source: LogIndex,
    target: LogIndex,
    young_since_ms: int = NEVER_YOUNG,
    low: int = -NO_LIMIT,
    high: int = NO_LIMIT,
) -> Iterator[ReplicationGap]:
    """Yield the records ``[low, high)`` of *origin* that only the source has, as offsets of the source.

    A record is pending while the target has nothing later of that origin, or only what was indexed after
    *young_since_ms* (since the epoch). Errs to too many of both. The parts are disjoint, and there is at least one of
    all records.
    """
    for missing, shown_at_ms in _missing(origin, source, target, low, high):
        is_pending = (shown_at_ms > young_since_ms) | (shown_at_ms == NO_LIMIT)
        pending, skipped = (joined([missing.take(some)]) for some in (is_pending, ~is_pending))
        yield ReplicationGap(pending, skipped)


def gone_of(
    origin: int, source: LogIndex, target: LogIndex, low: int = -NO_LIMIT, high: int = NO_LIMIT
) -> Iterator[OffsetRanges]:
    """Yield which records ``[low, high)`` that were produced at the target, whose code is *origin*, it has not.

    The source has copies of them. As offsets of the source's log; the parts are disjoint.
    """
    for missing, _ in _missing(origin, source, target, low, high):
        yield joined([missing])


def _missing(
    origin: int, source: LogIndex, target: LogIndex, lowest: int, limit: int
) -> Iterator[tuple[OffsetRanges, Int64s]]:
    """Yield the ranges of the source's log with records ``[lowest, limit)`` of *origin* that the target has not.

    Also when the target's index saw the next record of that origin above each range; ``NO_LIMIT``: it has none.
    """
    for begin, high in _windows(origin, source, target):
        low, end = max(begin, lowest), min(high, limit)
        if low >= end:
            continue
        here, there = source.positions(origin, low, end), target.positions(origin, low, end)
        mine = slice(np.searchsorted(here.end, low, "right"), np.searchsorted(here.start, end, "left"))
        held = there.position < NO_LIMIT  # the others a truncation has removed
        first, last = np.maximum(here.start[mine], low), np.minimum(here.end[mine], end)
        row, gap, first, last = _without(first, last, there.start[held], there.end[held])
        start = here.position[mine][row] + (first - here.start[mine][row])
        shown_at_ms = np.append(there.next_offset_indexed_at_ms[held], NO_LIMIT)[gap]
        yield OffsetRanges(start, last - first), shown_at_ms


def _windows(origin: int, *logs: LogIndex) -> Iterator[tuple[int, int]]:
    """Yield neighbouring ranges that cover all offsets of *origin*, each of them in few pages of any log.

    Records that came late or again make a range meet more pages.
    """
    ends = np.unique(np.concatenate([log.paged.pages.span(origin).high + 1 for log in logs]))
    yield from pairwise([-NO_LIMIT, *ends[ends > 0].tolist(), NO_LIMIT])


def joined(parts: Sequence[OffsetRanges]) -> OffsetRanges:
    """Return the ranges of all *parts*, which are disjoint."""
    ranges = OffsetRanges.none().followed_by(*parts)
    return ranges.take(np.argsort(ranges.start, kind="stable"))


def _without(
    start: Int64s, end: Int64s, cover_start: Int64s, cover_end: Int64s
) -> tuple[NDArray[np.intp], NDArray[np.intp], Int64s, Int64s]:
    """Return the parts of ``[start, end)`` that no cover holds, as (row, gap, low, high).

    Both sides are disjoint and sorted. Gap g is before cover g, the last gap behind all of them.
    """
    row, interval, low, length = cut_at(start, end, cover_start, cover_end)
    is_gap = interval % 2 == 0
    return row[is_gap], interval[is_gap] // 2, low[is_gap], (low + length)[is_gap]


@dataclass(frozen=True)
class Counts:
    """Records, by group; every column has shape (commits,). Errs to more of all."""

    repeats: Int64s  # from the position up to the answer; negative where the position is above it
    skipped: Int64s  # unread, below the position
    unread: Int64s  # from the commit on, produced before the clusters were asked
    pending: Int64s  # unread, and may yet come to the target
    not_mirrored: Int64s  # unread, the source's own, not at the target: lost if the source never comes back
    deleted: Int64s  # unread, dropped on the way from elsewhere, or deleted: the target will not have them
    unindexed: Int64s  # not indexed yet, at either side


class BothLogs(NamedTuple):
    """Both logs of one partition; *source_end* is ABSENT where the source does not answer.

    Records that the mirror has passed since *young_since_ms* may still come, and holes at the source that became
    visible since *unread_since_ms* may still be filled (both since the epoch). *is_unstamped*: the mirror stamps no
    headers, and only timestamps tell its progress.
    """

    source: PartitionLog
    target: PartitionLog
    source_end: int
    young_since_ms: int
    unread_since_ms: int
    is_unstamped: bool


def measure(logs: BothLogs, committed: Int64s, wanted: Int64s, position: Int64s) -> tuple[Counts, OffsetCounts]:
    """Return the counts for groups that have *committed* these offsets, and the *position* of each at the target.

    All have shape (commits,); *wanted* are the answers, ABSENT where withheld; no position is ABSENT too. Also all
    indexed records that a mirror is known to copy and that are not at the target. Records of the source from its log
    end on were produced after the clusters were asked, so they are not missing.
    """
    here, there, source_end, young_since_ms, _, is_unstamped = logs
    source, target = below_cut(here), below_cut(there)
    target_end = log_end(there.metadata)
    snapshot_end = source_end if source_end != ABSENT else NO_END
    left = np.maximum(committed, here.log_start)
    # A move cannot lose records that the source has deleted. Late and repeated records may be at a later place.
    readable = committed if source.reorder_count() else left
    pending, not_mirrored, deleted = (OffsetCounts(readable) for _ in range(3))
    late, mirrored = OffsetCounts(_NO_ROWS), target.origins | {here.origin}
    for origin, whole in _gaps(here.origin, there.origin, source, target, None if is_unstamped else young_since_ms):
        gap = whole.below(snapshot_end)
        pending.add(gap.pending)
        if origin in mirrored:
            late.add(gap.pending)
        if origin == here.origin:
            not_mirrored.add(gap.pending)
            not_mirrored.add(gap.skipped)
        else:
            deleted.add(gap.skipped)
    if not is_unstamped:
        for gone in gone_of(there.origin, source, target, high=target.frontier):
            deleted.add(gone.below(snapshot_end))
        # Copies that were there before the target was asked for its end: a truncation has taken what is beyond it.
        lost_from = max(target.frontier, target_end) if there.metadata.cut_at is None else there.metadata.cut_at
        for gone in gone_of(there.origin, source, target, low=lost_from):
            deleted.add(gone.below(min(snapshot_end, here.metadata.frontier)))
    beyond = _beyond_index(source, left, source_end)
    newer = source.paged.records_from(np.maximum(left, snapshot_end), source.frontier)
    repeats, skipped = _cost_at(logs, committed, wanted, position)
    return Counts(
        repeats=repeats,
        skipped=skipped,
        unread=source.paged.records_from(left, source.frontier) - newer + beyond,
        pending=pending.at_or_above + beyond,
        not_mirrored=not_mirrored.at_or_above + beyond,
        deleted=deleted.at_or_above,
        # Records read at the source beyond its index may be above the group's position at the target.
        unindexed=np.maximum(beyond, source_end - source.frontier) + max(0, target_end - target.frontier),
    ), late


def below_cut(log: PartitionLog) -> LogIndex:
    """Return the index of a log, below its truncation if there was one; of an unindexed log from its log start on."""
    if not log.is_indexed:
        return LogIndex(log.log_start)
    cut_at = log.metadata.cut_at
    return log.index if cut_at is None else log.index.below(cut_at)


def log_end(metadata: PartitionMetadata | None) -> int:
    """Return the log end; ABSENT where the cluster or the leader does not answer, or the topic does not exist."""
    return metadata.log_end if metadata is not None and metadata.topic_id is not None else ABSENT


def is_outside(metadata: PartitionMetadata, offset: Int64s) -> NDArray[np.bool_]:
    """Return where *offset* is outside the log: there a consumer's own auto.offset.reset applies."""
    outside: NDArray[np.bool_] = (offset != ABSENT) & ((offset < metadata.log_start) | (offset > metadata.log_end))
    return outside


def _gaps(
    own: int, targets: int, source: LogIndex, target: LogIndex, young_since_ms: int | None
) -> Iterator[tuple[int, ReplicationGap]]:
    """Yield the records that the target does not have, by origin: *own* is the source's, *targets* the target's.

    Without headers (*young_since_ms* is None) those are pending that are newer than all at the target; equal timestamps
    are indistinguishable.
    """
    none = OffsetRanges.none()
    if young_since_ms is None:
        first, here, there = source.begin, source.times, target.times
        if here is not None and there is not None and len(there):
            row = int(np.searchsorted(here.greatest_to, there.greatest_to[-1], "right"))
            first = int(here.start[row]) if row < len(here) else source.frontier
        for runs in source.paged.parts(first, source.frontier):
            yield own, ReplicationGap(OffsetRanges(runs.start, runs.length), none)
        return
    for origin in sorted((source.origins | {own}) - {targets, UNKNOWN_ORIGIN}):
        yield from ((origin, gap) for gap in replication_gaps(origin, source, target, young_since_ms))
    # Records with unreadable headers count as the source's own, missing at the target.
    yield own, ReplicationGap(none, OffsetRanges(*source.unknown_ranges).below(source.frontier))


def _beyond_index(source: LogIndex, left: Int64s, source_end: int) -> Int64s:
    """Return how many offsets from *left* on the source's index does not cover: not known to be at the target."""
    beyond: Int64s = np.maximum(source_end - np.maximum(left, source.frontier), 0)
    return beyond + np.maximum(source.begin - left, 0)


def _cost_at(logs: BothLogs, committed: Int64s, wanted: Int64s, position: Int64s) -> tuple[Int64s, Int64s]:
    """Return what each group repeats and skips at its *position*, compared with the answer; 0 without both."""
    repeats, skipped = np.zeros((2, len(committed)), np.int64)
    rows = np.flatnonzero((np.minimum(wanted, position) != ABSENT) & (wanted != position))
    if len(rows):
        here, there = (PartitionLog(below_cut(each), each.origin) for each in (logs.source, logs.target))
        at = np.maximum(position[rows], logs.target.log_start)
        found = position_cost(committed[rows], wanted[rows], at, here, there, logs.unread_since_ms)
        # Records between the end of the index and a position beyond it are unknown, so they count as unread.
        target_end, frontier = log_end(logs.target.metadata), there.index.frontier
        unknown = np.minimum(position[rows], target_end) - np.maximum(frontier, wanted[rows])
        repeats[rows], skipped[rows] = found[0], found[1] + np.maximum(unknown, 0)
    return repeats, skipped
