"""What the source has and the target has not: the records that a move of a group would leave behind.

The source's segments of an origin less the target's, by identity::

    source X   x0 x1 x2 y0 x3 x4 x5       target Y   x0 x2 y0 x3
    missing    x1 (dropped by the mirror: later ones are there), x4 x5 (not mirrored yet)

Errs to too many: what the target's index has not read yet counts as missing, a record without readable headers too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.logindex import LogIndex
from offset_sync.translate.positions import OriginPositions
from offset_sync.translate.runs import Int64s


@dataclass(frozen=True)
class Stretches:
    """Disjoint stretches ``[start, start + length)`` of a log by ascending *start*; arrays of shape (stretches,)."""

    start: Int64s
    length: Int64s

    def count_from(self, offset: Int64s) -> Int64s:
        """Return how many records stand at or above each offset, shape (offsets,)."""
        if len(self.start) == 0:
            return np.zeros(len(offset), np.int64)
        row = np.searchsorted(self.start, offset, "right") - 1
        into = np.clip(offset - self.start[np.maximum(row, 0)], 0, self.length[np.maximum(row, 0)])
        before = np.concatenate(([0], np.cumsum(self.length)))
        below = np.where(row >= 0, before[np.maximum(row, 0)] + into, 0)
        found: Int64s = int(self.length.sum()) - below
        return found

    def from_offset(self, offset: int) -> Stretches:
        """Return what lies at or above *offset*."""
        cut = np.clip(offset - self.start, 0, self.length)
        kept = cut < self.length
        return Stretches((self.start + cut)[kept], (self.length - cut)[kept])


@dataclass(frozen=True)
class Missing:
    """Of one origin: what is *late* may yet come, for nothing later of the origin is there; what is *dropped* not."""

    late: Stretches
    dropped: Stretches


def missing_of(origin: int, source: LogIndex, target: LogIndex | None) -> Missing:
    """Return which records of *origin* the source has and the target has not, as places in the source's log."""
    here = source.positions(origin)
    there = target.positions(origin) if target is not None else OriginPositions()
    newest = int(there.end[-1]) if len(there) else 0
    row, low, high = _without(here.start, here.end, there.start, there.end)
    start, length = here.position[row] + (low - here.start[row]), high - low
    is_late = low >= newest
    return Missing(_in_order(start[is_late], length[is_late]), _in_order(start[~is_late], length[~is_late]))


def joined(parts: list[Stretches]) -> Stretches:
    """Return the stretches of all *parts*, which are disjoint."""
    nothing = np.empty(0, np.int64)
    return _in_order(
        np.concatenate([nothing, *(part.start for part in parts)]),
        np.concatenate([nothing, *(part.length for part in parts)]),
    )


def _in_order(start: Int64s, length: Int64s) -> Stretches:
    order = np.argsort(start)
    return Stretches(start[order], length[order])


def _without(
    start: Int64s, end: Int64s, cover_start: Int64s, cover_end: Int64s
) -> tuple[NDArray[np.intp], Int64s, Int64s]:
    """Return what of ``[start, end)`` no cover holds, as (row, low, high); both sides disjoint and sorted."""
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    gap_low, gap_high = np.concatenate(([lowest], cover_end)), np.concatenate((cover_start, [highest]))
    first = np.searchsorted(gap_high, start, "right")
    count = np.maximum(np.searchsorted(gap_low, end, "left") - first, 0)
    row = np.repeat(np.arange(len(start)), count)
    gap = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(row))
    low, high = np.maximum(start[row], gap_low[gap]), np.minimum(end[row], gap_high[gap])
    kept = low < high
    return row[kept], low[kept], high[kept]
