"""What the source has and the target has not: the records that a move of a group would leave behind.

The source's segments of an origin less the target's, by identity::

    source X   x0 x1 x2 y0 x3 x4 x5       target Y   x0 x2 y0 x3
    missing    x1 (dropped by the mirror: later ones are there), x4 x5 (not mirrored yet)

A record that the mirror has overtaken may still come for a while, as in ``pieces``: so long it is late, not dropped.
Errs to too many: what the target's index has not read yet counts as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import OriginPositions
from offset_sync.translate.index.runs import Int64s

NEVER_YOUNG = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class OffsetRanges:
    """Disjoint stretches ``[start, start + length)`` of a log by ascending *start*; arrays of shape (stretches,)."""

    start: Int64s
    length: Int64s

    @classmethod
    def none(cls) -> OffsetRanges:
        """Return no stretch."""
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
    """Of one origin: what is *late* may yet come, *dropped* not. *is_settling*: some is late for its age only."""

    pending: OffsetRanges
    skipped: OffsetRanges
    is_settling: bool = False

    def below(self, offset: int) -> ReplicationGap:
        """Return what is missing of the source's log below *offset*."""
        return ReplicationGap(self.pending.below(offset), self.skipped.below(offset), self.is_settling)


def replication_gap(
    origin: int, source: LogIndex, target: LogIndex | None, young_since_ms: int = NEVER_YOUNG
) -> ReplicationGap:
    """Return which records of *origin* the source has and the target has not, as places in the source's log.

    Late is what nothing later of the origin is there for, or only what was indexed after *young_since_ms*.
    """
    here = source.positions(origin)
    there = target.positions(origin) if target is not None else OriginPositions()
    row, gap, low, high = _without(here.start, here.end, there.start, there.end)
    start, length = here.position[row] + (low - here.start[row]), high - low
    is_beyond = gap == len(there)
    is_young = np.append(there.next_offset_indexed_at_ms, young_since_ms)[gap] > young_since_ms
    is_late = is_beyond | is_young
    pending, skipped = (_in_order(start[some], length[some]) for some in (is_late, ~is_late))
    return ReplicationGap(pending, skipped, bool(is_young.any()))


def deleted_of(origin: int, source: LogIndex, target: LogIndex) -> OffsetRanges:
    """Return which records of *origin*, which is the target itself, it held once and has no more.

    The source has them from there, and the target's index, as far as it reaches, does not know them.
    """
    here, there = source.positions(origin), target.positions(origin)
    cover_start, cover_end = np.append(there.start, target.frontier), np.append(there.end, np.iinfo(np.int64).max)
    row, _, low, high = _without(here.start, here.end, cover_start, cover_end)
    return _in_order(here.position[row] + (low - here.start[row]), high - low)


def joined(parts: Sequence[OffsetRanges]) -> OffsetRanges:
    """Return the stretches of all *parts*, which are disjoint."""
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
    """Return what of ``[start, end)`` no cover holds, as (row, gap, low, high); both sides disjoint and sorted.

    Gap g lies before cover g.
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
