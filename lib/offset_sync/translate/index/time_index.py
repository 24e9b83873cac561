"""The timestamps of one log, for topics that are translated by timestamp."""

from __future__ import annotations

import numpy as np

from offset_sync.translate.index.columns import shallow
from offset_sync.translate.index.runs import Int64s, records_below


class TimeIndex:
    """Stretches of a log with their least and greatest record timestamp in ms, by ascending offset.

    All arrays have shape (stretches,), and none ever changes: *start* is the first offset of each stretch, *length*
    counts its records, which are contiguous. For topics of strategy ``timestamp`` a stretch ends where the timestamp
    changes, so both times are the same. A topic that got the strategy later has older stretches in which they differ
    and the order of timestamps is unknown.
    """

    def __init__(self) -> None:
        self.start, self.length, self.least_ms, self.most_ms = np.empty((4, 0), np.int64)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Int64s:
        """First offset after each stretch."""
        end: Int64s = self.start + self.length
        return end

    @property
    def greatest_to(self) -> Int64s:
        """Greatest timestamp up to and including each stretch; never falls."""
        found: Int64s = np.maximum.accumulate(self.most_ms)
        return found

    def records_below(self, offset: Int64s) -> Int64s:
        """Return how many records are below each offset, shape (offsets,)."""
        return records_below(self.start, self.length, offset)

    def extend(self, start: Int64s, length: Int64s, least_ms: Int64s, most_ms: Int64s) -> None:
        """Add stretches by ascending offset, shape (stretches,) each; known ones are left out.

        A stretch of which a part is known keeps the times of the whole, which errs to a wider range.
        """
        known_to = int(self.end[-1]) if len(self) else 0
        cut = np.maximum(np.maximum.accumulate(np.concatenate(([known_to], start + length)))[:-1] - start, 0)
        is_kept = cut < length
        added = start + cut, length - cut, least_ms, most_ms
        known = self.start, self.length, self.least_ms, self.most_ms
        self.start, self.length, self.least_ms, self.most_ms = (
            np.concatenate((old, new[is_kept])) for old, new in zip(known, added, strict=True)
        )

    def view(self) -> TimeIndex:
        """Return a snapshot."""
        return shallow(self)

    def below(self, offset: int) -> TimeIndex:
        """Return the stretches below *offset*; a stretch across it is cut and keeps the times of the whole."""
        found, rows = TimeIndex(), slice(0, int(self.start.searchsorted(offset, "left")))
        length = np.minimum(self.length[rows], offset - self.start[rows])
        found.extend(self.start[rows], length, self.least_ms[rows], self.most_ms[rows])
        return found
