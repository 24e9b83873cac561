"""The replication gap: records of the source that the target does not have, which a move would leave behind.

The source's segments of an origin less the target's, by identity::

    source X   x0 x1 x2 y0 x3 x4 x5       target Y   x0 x2 y0 x3
    skipped    x1 (the mirror has passed it: later ones are there)
    pending    x4 x5 (not mirrored yet)

A record that the mirror has passed may still come for a while, as in ``pieces``; until then it is pending. Errs to too
many: what the target's index has not read yet counts as missing.

Paged logs are compared window by window of origin offsets, each of which meets few pages of either log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import Int64s, records_below
from offset_sync.translate.index.stretches import cut_at

NEVER_YOUNG = int(np.iinfo(np.int64).max)


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
    """Counts the records at or above each of the offsets *asked* for, of ranges that are added one by one."""

    def __init__(self, asked: Int64s) -> None:
        self._asked = np.unique(asked)
        self._at_or_above = np.zeros(len(self._asked), np.int64)
        self.total, self.first = 0, NO_LIMIT

    def add(self, ranges: OffsetRanges) -> None:
        """Count *ranges*, which are disjoint from those before."""
        if len(ranges):
            self._at_or_above += ranges.count_from(self._asked)
            self.total, self.first = self.total + ranges.total, min(self.first, int(ranges.start[0]))

    def count_from(self, offset: Int64s) -> Int64s:
        """Return how many records are at or above each offset, shape (offsets,); all of them were asked for."""
        row = np.minimum(np.searchsorted(self._asked, offset), len(self._asked) - 1)
        if (self._asked[row] != offset).any():
            raise ValueError("an offset that was not asked for")
        found: Int64s = self._at_or_above[row]
        return found


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
        is_young = (shown_at_ms > young_since_ms) & (shown_at_ms < NO_LIMIT)
        is_pending = is_young | (shown_at_ms == NO_LIMIT)
        pending, skipped = (joined([missing.take(some)]) for some in (is_pending, ~is_pending))
        yield ReplicationGap(pending, skipped)


def deleted_of(origin: int, source: LogIndex, target: LogIndex) -> Iterator[OffsetRanges]:
    """Yield which records that were produced at the target, whose code is *origin*, are deleted there.

    The source has copies of them, and the target's index does not hold them although it reaches further. As offsets
    of the source's log; the parts are disjoint.
    """
    for missing, _ in _missing(origin, source, target, -NO_LIMIT, target.frontier):
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
        mine, near = _between(here, low, end), _between(there, low, end)
        first, last = np.maximum(here.start[mine], low), np.minimum(here.end[mine], end)
        row, gap, first, last = _without(first, last, there.start[near], there.end[near])
        start = here.position[mine][row] + (first - here.start[mine][row])
        shown_at_ms = np.append(there.next_offset_indexed_at_ms, NO_LIMIT)[gap + near.start]
        yield OffsetRanges(start, last - first), shown_at_ms


def _windows(origin: int, *logs: LogIndex) -> Iterator[tuple[int, int]]:
    """Yield neighbouring ranges that cover all offsets of *origin*, each of them in few pages of any log.

    Records that came late or again make a range meet more pages.
    """
    ends = np.unique(np.concatenate([log.paged.pages.span(origin).high + 1 for log in logs]))
    yield from pairwise([-NO_LIMIT, *ends[ends > 0].tolist(), NO_LIMIT])


def _between(positions: OriginPositions, low: int, high: int) -> slice:
    """Return which segments hold any of the offsets ``[low, high)``."""
    return slice(int(np.searchsorted(positions.end, low, "right")), int(np.searchsorted(positions.start, high, "left")))


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
