"""Where the records of one origin are in a cluster's log: from origin offset to the lowest offset.

A segment is a range of origin offsets that are contiguous in the log. Segments are disjoint and sorted by origin
offset; where the mirror has sent records again only the first occurrence counts::

    log of X      ..  o5 o6 o7 o5 o6 o7 o9 ..        segments of o:  [5, 8) at 100,  [9, 10) at 106
    offset           100      103      106           hole: 8, read once the group has passed 106
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import GrowingArray
from offset_sync.translate.index.runs import Int64s, Runs

NO_LIMIT = 1 << 62
"""Greater than any offset: the position of a record that the cluster does not have."""
_NOTHING = tuple(GrowingArray() for _ in range(5))
"""Columns of no segment; to these nothing is ever added."""


class OriginPositions:
    """Segments of one origin in one log, extended as the log grows; all arrays have shape (segments,)."""

    def __init__(self) -> None:
        self._columns: tuple[GrowingArray, ...] = _NOTHING
        self._seen_ms = GrowingArray()

    def __len__(self) -> int:
        return len(self._columns[0])

    @property
    def start(self) -> Int64s:
        """First origin offset of each segment."""
        return self._columns[0].values

    @property
    def end(self) -> Int64s:
        """First origin offset after each segment."""
        return self._columns[1].values

    @property
    def position(self) -> Int64s:
        """Offset in the log of each segment's first record."""
        return self._columns[2].values

    @property
    def next_offset(self) -> Int64s:
        """Lowest offset of any record of this or a later segment: the position given to a hole before the segment."""
        return self._columns[3].values

    @property
    def next_offset_indexed_at_ms(self) -> Int64s:
        """When the record at :attr:`next_offset` was indexed, in ms: from then on the hole before is visible."""
        return self._columns[4].values

    def extend(self, runs: Runs) -> None:
        """Add *runs* of this origin, in log order and all later in the log than what is here.

        The first ones are kept without a copy, so they must not be part of larger arrays.
        """
        if len(runs) == 0:
            return
        start, end = runs.origin_start, runs.origin_start + runs.length
        known_end = int(self.end[-1]) if len(self) else -1
        # Truncated records are placed beyond every offset, so what comes now is not later than those.
        has_lost = len(self) > 0 and int(self.next_offset[-1]) >= NO_LIMIT
        if not has_lost and start[0] >= known_end and bool((start[1:] >= end[:-1]).all()):
            # These runs are later in the log, so the next offsets of earlier segments do not change.
            self._append(start, end, runs.start, runs.indexed_at_ms)
            return
        segments = first_occurrences(
            np.concatenate((self.start, start)),
            np.concatenate((self.end, end)),
            np.concatenate((self.position, runs.start)),
            np.concatenate((self._seen_ms.values, runs.indexed_at_ms)),
        )
        self._columns = _NOTHING
        self._append(*segments)

    def view(self) -> OriginPositions:
        """Return an independent snapshot; columns are copied on write."""
        found = OriginPositions()
        found._columns = tuple(column.view() for column in self._columns)
        found._seen_ms = self._seen_ms.view()
        return found

    def _append(self, start: Int64s, end: Int64s, position: Int64s, seen_ms: Int64s) -> None:
        if len(self) and start[0] == self.end[-1] and position[0] == self.position[-1] + (start[0] - self.start[-1]):
            # It continues the last segment, whose first record still is the one that shows the holes before it.
            self._columns[1].set_last(int(end[0]))
            start, end, position, seen_ms = start[1:], end[1:], position[1:], seen_ms[1:]
        if len(start) == 0:
            return
        columns = (start, end, position, *_lowest_from_there_on(position, seen_ms))
        if len(self) == 0:
            self._columns, self._seen_ms = tuple(map(GrowingArray.of, columns)), GrowingArray.of(seen_ms)
            return
        self._seen_ms.append(seen_ms)
        for column, values in zip(self._columns, columns, strict=True):
            column.append(values)


def _lowest_from_there_on(position: Int64s, seen_ms: Int64s) -> tuple[Int64s, Int64s]:
    """Return, for each segment, the lowest position from there on, and when the record there was seen."""
    if (position[1:] >= position[:-1]).all():
        return position, seen_ms
    backwards = position[::-1]
    lowest = np.minimum.accumulate(backwards)
    lowest_at = np.maximum.accumulate(np.where(backwards == lowest, np.arange(len(position)), 0))
    return lowest[::-1], seen_ms[::-1][lowest_at][::-1]


def first_occurrences(
    start: Int64s, end: Int64s, position: Int64s, seen_ms: Int64s
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Cut overlapping ranges ``[start, end)`` into disjoint ones; where some overlap, the lowest in the log wins.

    In any order, shape (ranges,) each.
    """
    low, high, won = disjoint_ranges(start, end, np.argsort(position, kind="stable"))
    return low, high, position[won] + (low - start[won]), seen_ms[won]


def disjoint_ranges(start: Int64s, end: Int64s, order: NDArray[np.intp]) -> tuple[Int64s, Int64s, NDArray[np.intp]]:
    """Return disjoint ranges by ascending offset and which of ``[start, end)`` each is of: the first in *order*.

    Shapes (ranges,); *order* has all their numbers. All starts and ends together cut the line into elementary
    intervals, and in each of them one range wins. :func:`_lowest_cover` finds all winners at once, in O(n log n)
    whatever overlaps what.
    """
    start, end = start[order], end[order]
    cuts = np.unique(np.concatenate((start, end)))
    winner = _lowest_cover(np.searchsorted(cuts, start), np.searchsorted(cuts, end), len(cuts) - 1)
    covered = np.flatnonzero(winner < len(start))
    won = winner[covered]
    is_first = np.concatenate(([True], won[1:] != won[:-1]))  # what one range wins in a row has no gap
    is_last = np.concatenate((is_first[1:], [True]))
    return cuts[covered[is_first]], cuts[covered[is_last] + 1], order[won[is_first]]


def _lowest_cover(left: NDArray[np.intp], right: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Return, for each x below *size*, the smallest i with ``left[i] <= x < right[i]``; len(left) if there is none.

    Two intervals whose length is a power of two cover each range; these are passed on to their halves, widest first.
    """
    count = len(left)
    index = np.arange(count)
    level = np.floor(np.log2(right - left)).astype(np.intp)
    best = np.full(size, count, np.intp)
    for exponent in range(int(level.max()), -1, -1):
        width = 1 << exponent
        if exponent < int(level.max()):
            # best[i] holds for [i, i + 2 * width): pass it on to both halves.
            halves = best.copy()
            halves[width:] = np.minimum(halves[width:], best[:-width])
            best = halves
        here = level == exponent
        np.minimum.at(best, left[here], index[here])
        np.minimum.at(best, right[here] - width, index[here])
    return best
