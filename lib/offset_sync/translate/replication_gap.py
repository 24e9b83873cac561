"""The replication gap: what the source has and the target has not, which a group that moves would leave behind.

The source's segments of an origin less the target's, by identity::

    source X   x0 x1 x2 y0 x3 x4 x5       target Y   x0 x2 y0 x3
    skipped    x1 (the mirror has passed it: later ones are there)
    pending    x4 x5 (not mirrored yet)

A record that the mirror has passed may still come for a while, as in ``pieces``; so long it is pending. Errs to too
many: what the target's index has not read yet counts as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s

NEVER_YOUNG = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class OffsetRanges:
    """Disjoint ranges ``[start, start + length)`` of a log by ascending *start*; arrays of shape (ranges,)."""

    start: Int64s
    length: Int64s

    @classmethod
    def none(cls) -> OffsetRanges:
        """Return no range."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    @property
    def total(self) -> int:
        """How many records they hold."""
        return int(self._before[-1])

    @cached_property
    def _before(self) -> Int64s:
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.length)))

    def count_from(self, offset: Int64s) -> Int64s:
        """Return how many records stand at or above each offset, shape (offsets,)."""
        if len(self.start) == 0:
            return np.zeros(len(offset), np.int64)
        row = np.searchsorted(self.start, offset, "right") - 1
        into = np.clip(offset - self.start[np.maximum(row, 0)], 0, self.length[np.maximum(row, 0)])
        below = np.where(row >= 0, self._before[np.maximum(row, 0)] + into, 0)
        found: Int64s = self.total - below
        return found

    def count_between(self, low: Int64s, high: Int64s) -> Int64s:
        """Return how many records stand in each ``[low, high)``, shape (offsets,); none where it is empty."""
        found: Int64s = np.maximum(self.count_from(low) - self.count_from(high), 0)
        return found

    def from_offset(self, offset: int) -> OffsetRanges:
        """Return what lies at or above *offset*."""
        cut = np.clip(offset - self.start, 0, self.length)
        kept = cut < self.length
        return OffsetRanges((self.start + cut)[kept], (self.length - cut)[kept])

    def below(self, offset: int) -> OffsetRanges:
        """Return what lies below *offset*."""
        length = np.clip(offset - self.start, 0, self.length)
        return OffsetRanges(self.start[length > 0], length[length > 0])


@dataclass(frozen=True)
class ReplicationGap:
    """Records of one origin: those *pending* may still come, those *skipped* will not.

    *is_settling*: some are pending only because they are young, and will count as skipped with time alone.
    """

    pending: OffsetRanges
    skipped: OffsetRanges
    is_settling: bool = False

    def below(self, offset: int) -> ReplicationGap:
        """Return what is missing of the source's log below *offset*."""
        return ReplicationGap(self.pending.below(offset), self.skipped.below(offset), self.is_settling)


def replication_gap(
    origin: int, source: LogIndex, target: LogIndex, young_since_ms: int = NEVER_YOUNG
) -> ReplicationGap:
    """Return which records of *origin* the source has and the target has not, as offsets of the source's log.

    A record is pending while the target has nothing later of that origin, or only what was indexed after
    *young_since_ms* (since the epoch). Errs to too many of both.
    """
    here, there = source.positions(origin), target.positions(origin)
    row, gap, low, high = _without(here.start, here.end, there.start, there.end)
    start, length = here.position[row] + (low - here.start[row]), high - low
    is_beyond = gap == len(there)
    is_young = np.append(there.next_offset_indexed_at_ms, young_since_ms)[gap] > young_since_ms
    is_pending = is_beyond | is_young
    pending, skipped = (_in_order(start[some], length[some]) for some in (is_pending, ~is_pending))
    return ReplicationGap(pending, skipped, bool(is_young.any()))


def deleted_of(origin: int, source: LogIndex, target: LogIndex) -> OffsetRanges:
    """Return which records that were produced at the target, whose code is *origin*, are deleted there.

    The source has copies of them, and the target's index does not hold them although it reaches further. As offsets
    of the source's log.
    """
    here, there = source.positions(origin), target.positions(origin)
    cover_start, cover_end = np.append(there.start, target.frontier), np.append(there.end, np.iinfo(np.int64).max)
    row, _, low, high = _without(here.start, here.end, cover_start, cover_end)
    return _in_order(here.position[row] + (low - here.start[row]), high - low)


def joined(parts: Sequence[OffsetRanges]) -> OffsetRanges:
    """Return the ranges of all *parts*, which are disjoint."""
    nothing = np.empty(0, np.int64)
    return _in_order(
        np.concatenate([nothing, *(part.start for part in parts)]),
        np.concatenate([nothing, *(part.length for part in parts)]),
    )


def _in_order(start: Int64s, length: Int64s) -> OffsetRanges:
    order = np.argsort(start, kind="stable")
    return OffsetRanges(start[order], length[order])


def _without(
    start: Int64s, end: Int64s, cover_start: Int64s, cover_end: Int64s
) -> tuple[NDArray[np.intp], NDArray[np.intp], Int64s, Int64s]:
    """Return the parts of ``[start, end)`` that no cover holds, as (row, gap, low, high).

    Both sides are disjoint and sorted. Gap g lies before cover g, the last gap behind all of them.
    """
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    gap_low, gap_high = np.concatenate(([lowest], cover_end)), np.concatenate((cover_start, [highest]))
    first = np.searchsorted(gap_high, start, "right")
    count = np.maximum(np.searchsorted(gap_low, end, "left") - first, 0)
    row = np.repeat(np.arange(len(start)), count)
    gap = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(row))
    low, high = np.maximum(start[row], gap_low[gap]), np.minimum(end[row], gap_high[gap])
    kept = low < high
    return row[kept], gap[kept], low[kept], high[kept]
