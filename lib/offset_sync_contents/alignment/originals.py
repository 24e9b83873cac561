"""The candidate originals of copies, by fingerprint, and the copies that are not decided yet.

Records come in log order and are held in a few parts, each of one stretch of the log, sorted by fingerprint and then by
offset. Parts that are small beside the next one are merged with it, so n new records among W cost O(n log W)
comparisons, and there are O(log W) parts to search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.runs import Int64s, members
from offset_sync_contents.alignment.records import Fingerprints

_TIMES = 4
"""A part is merged with the next one unless it has more than so many times its records."""
AT_ONCE = 1 << 21
"""The most pairs of a copy and an original in memory at a time, unless one copy has more."""


class Candidates(NamedTuple):
    """How many originals each copy may have, the least and the greatest of them; shapes (copies,).

    Where *number* is 0, *least* and *greatest* are undefined.
    """

    number: Int64s
    least: Int64s
    greatest: Int64s


class _Part(NamedTuple):
    """A stretch of the log that ends with the offset *last*; shapes (records,)."""

    fingerprint: Int64s
    offset: Int64s
    last: int

    @classmethod
    def of(cls, fingerprint: Int64s, offset: Int64s, last: int) -> _Part:
        """Sort records whose offsets ascend where fingerprints are equal."""
        order = np.argsort(fingerprint, kind="stable")
        return cls(fingerprint[order], offset[order], last)

    def followed_by(self, other: _Part, lowest: int) -> _Part:
        """Merge two stretches, without records below *lowest*."""
        fingerprint = np.concatenate((self.fingerprint, other.fingerprint))
        offset = np.concatenate((self.offset, other.offset))
        kept = offset >= lowest
        return _Part.of(fingerprint[kept], offset[kept], other.last)

    def spans(self, fingerprint: Int64s, low: Int64s, high: Int64s) -> tuple[NDArray[np.intp], ...]:
        """Find which of the ascending *fingerprint* are here with an offset in ``[low, high)``, and in which rows.

        Return three arrays of one shape: the places of those in *fingerprint*, and the first row and the end of the
        rows that each one has here.
        """
        first = self.fingerprint.searchsorted(fingerprint, "left")
        found = np.flatnonzero(self.fingerprint[np.minimum(first, len(self.fingerprint) - 1)] == fingerprint)
        end = self.fingerprint.searchsorted(fingerprint[found], "right")
        first = _first_at_least(self.offset, first[found], end, low[found])
        end = _first_at_least(self.offset, first, end, high[found])
        kept = first < end
        return found[kept], first[kept], end[kept]


class OriginalWindow:
    """Fingerprints of the log of originals from some offset on; grows at its end and shrinks at its beginning."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._lowest = 0

    def append(self, originals: Fingerprints) -> None:
        """Add records that follow all that are here."""
        if len(originals) == 0:
            return
        self._parts.append(_Part.of(originals.fingerprint, originals.offset, int(originals.offset[-1])))
        while len(self._parts) > 1 and len(self._parts[-2].offset) <= _TIMES * len(self._parts[-1].offset):
            last_part = self._parts.pop()
            self._parts[-1] = self._parts[-1].followed_by(last_part, self._lowest)

    def forget_below(self, offset: int) -> None:
        """Drop records below *offset*; some may still be found for a while."""
        self._lowest = max(self._lowest, offset)
        self._parts = [part for part in self._parts if part.last >= self._lowest]

    def candidates(self, fingerprint: Int64s, low: Int64s, high: Int64s) -> Candidates:
        """Return what originals with offsets in ``[low, high)`` each fingerprint has; all shapes (copies,)."""
        order = np.argsort(fingerprint, kind="stable")
        number, least, greatest = np.zeros((3, len(order)), np.int64)
        for part in self._parts:  # by ascending offset
            found, first, end = part.spans(fingerprint[order], low[order], high[order])
            row = order[found]
            least[row] = np.where(number[row] == 0, part.offset[first], least[row])
            greatest[row] = part.offset[end - 1]
            number[row] += end - first
        return Candidates(number, least, greatest)

    def members(self, fingerprint: Int64s, low: Int64s, high: Int64s) -> tuple[NDArray[np.intp], Int64s]:
        """Return all originals with offsets in ``[low, high)``: the copy's number and the offset of each."""
        order = np.argsort(fingerprint, kind="stable")
        rows, offsets = [np.empty(0, np.intp)], [np.empty(0, np.int64)]
        for part in self._parts:
            found, first, end = part.spans(fingerprint[order], low[order], high[order])
            copy, original = members(first, end - first)
            rows.append(order[found][copy])
            offsets.append(part.offset[original])
        return np.concatenate(rows), np.concatenate(offsets)

    def has(self, fingerprint: Int64s, offset: Int64s) -> NDArray[np.bool_]:
        """Return whether the record at each *offset* has that fingerprint, shape (copies,); False: there is none."""
        found: NDArray[np.bool_] = self.candidates(fingerprint, offset, offset + 1).number == 1
        return found


@dataclass(frozen=True)
class Pending(Columns):
    """Copies by ascending *offset*; shapes (copies,).

    The original of each is in ``[from_original, to_original)`` of its log: at or above the oldest one that the mirror
    may resend, and below the log's end after the copy was read. *count* originals there have the same *fingerprint*,
    from *least* to *greatest*. *read_ms* is when the copy was read.
    """

    offset: Int64s
    fingerprint: Int64s
    count: Int64s
    least: Int64s
    greatest: Int64s
    from_original: Int64s
    to_original: Int64s
    read_ms: Int64s

    @property
    def is_unique(self) -> NDArray[np.bool_]:
        """Which copies can be of one original only."""
        found: NDArray[np.bool_] = self.count == 1
        return found


class Matched:
    """The originals of which a run of the index is a copy, ``[first, end)`` by ``[first, end)``, from some offset on.

    A row below is not matched, as far as we know: errs to fewer.
    """

    def __init__(self) -> None:
        self._first, self._end = np.empty((2, 0), np.int64)

    def holds(self, original: Int64s) -> NDArray[np.bool_]:
        """Return which of these are matched."""
        row = self._first.searchsorted(original, "right") - 1
        found: NDArray[np.bool_] = (row >= 0) & (original < np.append(self._end, 0)[row])
        return found

    def add(self, original: Int64s) -> None:
        """Add some, in any order."""
        first = np.concatenate((self._first, original))
        end = np.concatenate((self._end, original + 1))
        order = np.argsort(first, kind="stable")
        first, reach = first[order], np.maximum.accumulate(end[order])
        begins = np.append(True, first[1:] > reach[:-1])[: len(first)]
        self._first, self._end = first[begins], reach[np.append(begins[1:], True)[: len(first)]]

    def forget_below(self, offset: int) -> None:
        """Drop those below *offset*; some may stay for a while."""
        kept = self._end > offset
        self._first, self._end = self._first[kept], self._end[kept]


def _first_at_least(values: Int64s, first: NDArray[np.intp], end: NDArray[np.intp], bound: Int64s) -> NDArray[np.intp]:
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
