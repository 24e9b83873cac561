"""The timestamps of one log, for topics that are translated by timestamp."""

from __future__ import annotations

import numpy as np

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
