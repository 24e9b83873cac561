"""What a group would read again, and never see, if it went on at the target where it stands there now.

Below t(c) everything is read, so an offset that stands *below* it costs the records between; above it some are unread,
and a group that went on there would never see them::

    t(c) = 5         3   4 | 5   6   7   8          stands at 3: reads 3 and 4 again
    read             yes yes no  yes no  yes        stands at 8: never sees 5 and 7, and 6 not again
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offset_sync.translate.logindex import LogIndex
from offset_sync.translate.pieces import Pieces, cut_pieces
from offset_sync.translate.runs import Int64s


@dataclass(frozen=True)
class Difference:
    """What standing elsewhere than at t(c) changes, arrays of shape (commits,): *repeats* may be negative."""

    repeats: Int64s
    skipped: Int64s


def difference(
    committed: Int64s,
    answer: Int64s,
    standing: Int64s,
    source: LogIndex | None,
    target: LogIndex,
    *,
    source_origin: int,
    young_since_ms: int,
) -> Difference:
    """Compare where each group stands at the target (*standing*) with the *answer* to what it *committed*.

    The answer is t(c) or, where that is deleted, the log start; *standing* is not below the log start either. Errs to
    too many skipped: what is not known to be read counts as unread.
    """
    repeats, skipped = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    differs = np.flatnonzero(standing != answer)
    if len(differs) == 0:
        return Difference(repeats, skipped)
    low, high = np.minimum(answer, standing), np.maximum(answer, standing)
    pieces = cut_pieces(
        target.runs.from_offset(int(low[differs].min())), source, source_origin, young_since_ms
    ).below(int(high[differs].max()))  # fmt: skip
    between = pieces.records_below(high) - pieces.records_below(low)
    is_behind = standing < answer
    repeats[is_behind] = between[is_behind]
    for row in np.flatnonzero(standing > answer).tolist():
        read = _read_between(pieces, int(committed[row]), int(low[row]), int(high[row]))
        repeats[row], skipped[row] = -read, between[row] - read
    return Difference(repeats, skipped)


def _read_between(pieces: Pieces, committed: int, low: int, high: int) -> int:
    """Return how many records of ``[low, high)`` a group that committed *committed* has read."""
    at = slice(max(int(np.searchsorted(pieces.start, low, "right")) - 1, 0), int(np.searchsorted(pieces.start, high)))
    start, length, needs = pieces.start[at], pieces.length[at], pieces.needs[at]
    first, end = np.clip(low - start, 0, length), np.clip(high - start, 0, length)
    read_to = np.where(
        pieces.is_linear[at], np.clip(committed - needs, 0, length), np.where(needs < committed, length, 0)
    )
    return int(np.maximum(np.minimum(end, read_to) - first, 0).sum())
