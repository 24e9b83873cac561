"""The timestamps of one log, for topics that are translated by timestamp."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import GrowingArray
from offset_sync.translate.index.runs import Int64s


class TimeIndex:
    """Stretches of a log with their least and greatest record timestamp in ms, by ascending offset.

    All arrays have shape (stretches,). For topics of strategy ``timestamp`` a stretch ends where the timestamp changes,
    so both are the same. A topic that got the strategy later has older stretches in which they differ and the order of
    timestamps is unknown.
    """

    def __init__(self) -> None:
        self._columns = tuple(GrowingArray() for _ in range(4))
        self._records_to = GrowingArray()
        self._greatest_to = GrowingArray()

    def __len__(self) -> int:
        return len(self._columns[0])

    @property
    def start(self) -> Int64s:
        """First offset of each stretch."""
        return self._columns[0].values

    @property
    def length(self) -> Int64s:
        """Records in each stretch; they are contiguous."""
        return self._columns[1].values

    @property
    def end(self) -> Int64s:
        """First offset after each stretch."""
        end: Int64s = self.start + self.length
        return end

    @property
    def least_ms(self) -> Int64s:
        """Least timestamp in each stretch."""
        return self._columns[2].values

    @property
    def most_ms(self) -> Int64s:
        """Greatest timestamp in each stretch."""
        return self._columns[3].values

    @property
    def greatest_to(self) -> Int64s:
        """Greatest timestamp up to and including each stretch; never falls."""
        return self._greatest_to.values

    def records_below(self, offset: Int64s) -> Int64s:
        """Return how many records are below each offset, shape (offsets,)."""
        if len(self) == 0:
            return np.zeros(len(offset), np.int64)
        row = np.searchsorted(self.start, offset, "right") - 1
        at = np.maximum(row, 0)
        into = np.clip(offset - self.start[at], 0, self.length[at])
        return np.where(row >= 0, self._records_to.values[at] - self.length[at] + into, 0)

    def extend(self, start: Int64s, length: Int64s, least_ms: Int64s, most_ms: Int64s) -> None:
        """Add stretches by ascending offset, shape (stretches,) each; known ones are left out.

        A stretch of which a part is known keeps the times of the whole, which errs to a wider range.
        """
        known_to = int(self.end[-1]) if len(self) else 0
        cut = np.maximum(np.maximum.accumulate(np.concatenate(([known_to], start + length)))[:-1] - start, 0)
        is_kept = cut < length
        start, length = (start + cut)[is_kept], (length - cut)[is_kept]
        if len(start) == 0:
            return
        records, greatest = 0, int(np.iinfo(np.int64).min)
        if len(self):
            records, greatest = int(self._records_to.values[-1]), int(self.greatest_to[-1])
        for column, values in zip(self._columns, (start, length, least_ms[is_kept], most_ms[is_kept]), strict=True):
            column.append(values)
        self._records_to.append(records + np.cumsum(length))
        self._greatest_to.append(np.maximum(np.maximum.accumulate(most_ms[is_kept]), greatest))

    def view(self) -> TimeIndex:
        """Return a snapshot."""
        found = TimeIndex()
        found._columns = tuple(column.view() for column in self._columns)
        found._records_to, found._greatest_to = self._records_to.view(), self._greatest_to.view()
        return found

    def below(self, offset: int) -> TimeIndex:
        """Return the stretches below *offset*; a stretch across it is cut and keeps the times of the whole."""
        found, rows = TimeIndex(), slice(0, int(self.start.searchsorted(offset, "left")))
        length = np.minimum(self.length[rows], offset - self.start[rows])
        found.extend(self.start[rows], length, self.least_ms[rows], self.most_ms[rows])
        return found


class Ranked:
    """The records from row *first_row* on, by timestamp and then offset, to find the n-th of a timestamp in one search.

    *is_known*: every stretch holds a single timestamp; else the order is unknown and no method may be called.
    """

    def __init__(self, times: TimeIndex, first_row: int) -> None:
        self._start, self._length = times.start[first_row:], times.length[first_row:]
        self._at_ms = times.least_ms[first_row:]
        self.is_known = bool(np.array_equal(self._at_ms, times.most_ms[first_row:]))
        self._order = np.argsort(self._at_ms, kind="stable")
        self._sorted_ms = self._at_ms[self._order]
        self._records_to = np.concatenate(([0], np.cumsum(self._length[self._order])))

    def count(self, at_ms: Int64s) -> Int64s:
        """Return how many records have each timestamp."""
        count: Int64s = self._to(at_ms, "right") - self._to(at_ms, "left")
        return count

    def rank(self, offset: Int64s, at_ms: Int64s) -> Int64s:
        """Return how many records of timestamp *at_ms* are below *offset*; shapes (commits,)."""
        # Among the stretches of that timestamp, those that begin below the offset come first.
        low, high = (np.searchsorted(self._sorted_ms, at_ms, side) for side in ("left", "right"))
        row = first_at_least(self._start[self._order], low, high, offset) - 1
        into = np.minimum(offset - self._start[self._order][row], self._length[self._order][row])
        has_any = row >= low
        rank: Int64s = np.where(has_any, self._records_to[row] + into - self._records_to[low], 0)
        return rank

    def offset_of(self, rank: Int64s, at_ms: Int64s) -> Int64s:
        """Return the offset of the record with *rank* among those of its timestamp; shapes (commits,).

        The rank after the last one gives the offset after the last record.
        """
        wanted = self._to(at_ms, "left") + rank
        is_end = rank >= self.count(at_ms)
        row = np.searchsorted(self._records_to, np.where(is_end, wanted - 1, wanted), "right") - 1
        offset: Int64s = self._start[self._order][row] + (wanted - self._records_to[row])
        return offset

    def _to(self, at_ms: Int64s, side: str) -> Int64s:
        to: Int64s = self._records_to[np.searchsorted(self._sorted_ms, at_ms, side)]  # type: ignore[call-overload]
        return to


def first_at_least(values: Int64s, first: NDArray[np.intp], end: NDArray[np.intp], bound: Int64s) -> NDArray[np.intp]:
    """Return the first row of each ``values[first:end]`` that is not below its *bound*, *end* if all are.

    *values* ascend within each range only, so ``searchsorted`` does not apply: all ranges are halved side by side.
    """
    low, high = first.copy(), end.copy()
    while (is_open := low < high).any():
        middle = (low + high) >> 1
        is_below = is_open & (values[np.minimum(middle, len(values) - 1)] < bound)
        low = np.where(is_below, middle + 1, low)
        high = np.where(is_open & ~is_below, middle, high)
    return low
