"""When each part of a log was indexed, in few numbers: to the second for what is new, coarser for what is old.

Runs that continue each other are joined and keep one time, so in a log that only one cluster writes they do not show
it. Here an entry has the offset from which on records were indexed at a time or later::

    offset    0 ........ 400 ....... 900 .. 950 960       entries: (0, 9:00) (400, 9:30) (900, 9:59:58) (950, 9:59:59)
    indexed   9:00       9:30        9:59:58 ..59         the record at 930 was indexed at 9:59:58 or a little later
"""

from __future__ import annotations

import numpy as np

from offset_sync.translate.index.runs import Int64s

_STEP_MS = 1_000
_MAX_ENTRIES = 256
_PER_DOUBLING = 8
"""How many entries are kept for each doubling of their age: a time is wrong by an eighth of its age."""


class IndexingTimes:
    """The indexing times of one log, by ascending offset and time; a few hundred at most, whatever its length."""

    def __init__(self) -> None:
        self._offset: Int64s = np.empty(0, np.int64)
        self._at_ms: Int64s = np.empty(0, np.int64)

    def extend(self, start: Int64s, indexed_at_ms: Int64s) -> None:
        """Add runs by ascending *start*, all above what is known; shapes (runs,), times in ms since the epoch.

        A time earlier than the last one counts as the last one.
        """
        known_ms = int(self._at_ms[-1]) if len(self._at_ms) else -_STEP_MS
        at_ms = np.maximum.accumulate(np.maximum(indexed_at_ms, known_ms))
        step = at_ms // _STEP_MS
        is_new = step != np.concatenate(([known_ms // _STEP_MS], step[:-1]))
        if not is_new.any():
            return
        self._offset = np.concatenate((self._offset, start[is_new]))
        self._at_ms = np.concatenate((self._at_ms, at_ms[is_new]))
        if len(self._offset) > _MAX_ENTRIES:
            self._thin_out()

    def _thin_out(self) -> None:
        age = (self._at_ms[-1] - self._at_ms) // _STEP_MS
        step = np.floor(np.log2(age + 1) * _PER_DOUBLING)
        kept = np.concatenate(([True], step[1:] != step[:-1]))
        self._offset, self._at_ms = self._offset[kept], self._at_ms[kept]

    def indexed_at_ms(self, offset: int) -> int:
        """Return when the record at *offset*, which must be indexed, was indexed; errs to a little earlier."""
        row = int(np.searchsorted(self._offset, offset, "right")) - 1
        return int(self._at_ms[row])
