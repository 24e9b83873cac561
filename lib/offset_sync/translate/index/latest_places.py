"""Originals that nobody recognised in a log of copies, and the last place where each of them may stand there.

Where several rows speak of one original the latest place counts: an earlier copy need not have been of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.origin_positions import NO_LIMIT, disjoint_ranges
from offset_sync.translate.index.runs import Int64s, Runs, distinct_origins


@dataclass(frozen=True)
class LatestPlaces:
    """Disjoint ranges ``[start, end)`` of one origin's offsets, ascending; original ``start + i`` may stand as late as
    at ``position + i``. Shapes (ranges,).
    """

    start: Int64s
    end: Int64s
    position: Int64s

    @classmethod
    def none(cls) -> LatestPlaces:
        """Return no places."""
        return cls(*np.empty((3, 0), np.int64))

    def __len__(self) -> int:
        return len(self.start)

    @property
    def records(self) -> int:
        """How many originals there are."""
        return int((self.end - self.start).sum())

    def with_rows(self, rows: Runs) -> LatestPlaces:
        """Return the same with *rows* of this origin, in any order."""
        kept = int(self.end.searchsorted(rows.origin_start.min(), "left")) if len(rows) else len(self)
        start = np.concatenate((self.start[kept:], rows.origin_start))
        if len(start) == 0:
            return self
        end = np.concatenate((self.end[kept:], rows.origin_start + rows.length))
        position = np.concatenate((self.position[kept:], rows.start))
        # By how far place and original are apart: that says for any original which of two ranges puts it later.
        low, high, won = disjoint_ranges(start, end, np.argsort(start - position, kind="stable"))
        position = position[won] + (low - start[won])
        continues = (low[1:] == high[:-1]) & (position[1:] - position[:-1] == low[1:] - low[:-1])
        first = np.flatnonzero(np.concatenate(([True], ~continues)))
        parts = (low[first], np.append(high[first[1:] - 1], high[-1]), position[first])
        columns = zip((self.start, self.end, self.position), parts, strict=True)
        return LatestPlaces(*(np.concatenate((column[:kept], part)) for column, part in columns))

    def between(self, low: int, high: int) -> LatestPlaces:
        """Return the ranges that hold any of ``[low, high)``."""
        near = slice(int(self.end.searchsorted(low, "right")), int(self.start.searchsorted(high, "left")))
        return LatestPlaces(self.start[near], self.end[near], self.position[near])

    def first_not_below(self, offset: Int64s) -> Int64s:
        """Return the lowest original of which a place is not below each offset, or less; NO_LIMIT: there is none."""
        last = self.position + (self.end - self.start) - 1
        order = np.argsort(last, kind="stable")
        lowest = np.minimum.accumulate(np.append(NO_LIMIT, self.start[order][::-1]))[::-1]
        found: Int64s = lowest[last[order].searchsorted(offset, "left")]
        return found


class Unrecognised:
    """Those of one log, by the code of their origin."""

    def __init__(self) -> None:
        self._places: dict[int, LatestPlaces] = {}

    def add(self, rows: Runs, reach: Mapping[int, int]) -> int:
        """Take in *rows*; return of how many origins one is below the *reach*, the first offset above all recognised.

        Such a record may have counted as a hole, and stands later than that now.
        """
        late = 0
        for origin in distinct_origins(rows.origin):
            mine = rows.take(np.asarray(rows.origin == origin))
            late += int(mine.origin_start.min() < reach.get(origin, -1))
            self._places[origin] = self.of(origin).with_rows(mine)
        return late

    def of(self, origin: int) -> LatestPlaces:
        """Return those of *origin*; where one was recognised somewhere, that place counts."""
        return self._places.get(origin) or LatestPlaces.none()

    @property
    def records(self) -> int:
        """How many originals there are of all origins."""
        return sum(places.records for places in self._places.values())

    def view(self) -> Unrecognised:
        """Return the same as it is now."""
        found = Unrecognised()
        found._places = dict(self._places)
        return found


def cut_at(
    start: Int64s, end: Int64s, cut_start: Int64s, cut_end: Int64s
) -> tuple[NDArray[np.intp], NDArray[np.intp], Int64s, Int64s]:
    """Cut each ``[start, end)`` at segments ``[cut_start, cut_end)``, disjoint and ascending; shapes differ.

    Segments and the gaps between them alternate: interval ``2j`` is the gap before segment j, ``2j + 1`` the segment
    itself, and the last one what lies behind all of them. Returns, of each part, the number of its range and of its
    interval, and its own start and length, which is more than 0.
    """
    low = np.empty(2 * len(cut_start) + 1, np.int64)
    low[0], low[1::2], low[2::2] = -NO_LIMIT, cut_start, cut_end
    first = low.searchsorted(start, "right") - 1
    count = low.searchsorted(end, "left") - first
    row = np.arange(len(start)).repeat(count)
    interval = (first - count.cumsum() + count).repeat(count) + np.arange(len(row))
    begin: Int64s = np.maximum(low[interval], start[row])
    high = np.append(low[1:], NO_LIMIT)
    length = np.minimum(high[interval], end[row]) - begin
    if not (kept := length > 0).all():
        row, interval, begin, length = row[kept], interval[kept], begin[kept], length[kept]
    return row, interval, begin, length


def greatest_so_far(values: Int64s) -> NDArray[np.int64]:
    """Return the running maximum with nothing before it: shape (values + 1,), -1 first."""
    return np.maximum.accumulate(np.append(np.int64(-1), values))
