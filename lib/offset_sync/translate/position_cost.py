"""What a group would read again, and never see, if it went on at the target where it stands there now.

Below t(c) everything is read, so an offset that stands *below* it costs the records between; above it some are unread,
and a group that went on there would never see them::

    t(c) = 5         3   4 | 5   6   7   8          stands at 3: reads 3 and 4 again
    read             yes yes no  yes no  yes        stands at 8: never sees 5 and 7, and 6 not again
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.exact import count_read
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.pieces import Pieces, cut_pieces

_AT_ONCE = 1 << 20
"""So many pieces, of all groups together, are looked at in one go."""


@dataclass(frozen=True)
class PositionCost:
    """What standing elsewhere than at t(c) changes, arrays of shape (commits,): *repeats* may be negative."""

    repeats: Int64s
    skipped: Int64s


def position_cost(
    committed: Int64s,
    answer: Int64s,
    standing: Int64s,
    source: LogIndex | None,
    target: LogIndex,
    *,
    source_origin: int,
    young_since_ms: int,
) -> PositionCost:
    """Compare where each group stands at the target (*standing*) with the *answer* to what it *committed*.

    The answer is t(c) or, where that is deleted, the log start; *standing* is not below the log start either. Errs to
    too many skipped: what is not known to be read counts as unread.
    """
    repeats, skipped = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    differs = np.flatnonzero(standing != answer)
    if len(differs) == 0:
        return PositionCost(repeats, skipped)
    low, high = np.minimum(answer, standing), np.maximum(answer, standing)
    pieces = cut_pieces(
        target.runs.from_offset(int(low[differs].min())), source, source_origin, young_since_ms
    ).below(int(high[differs].max()))  # fmt: skip
    between = pieces.records_below(high) - pieces.records_below(low)
    is_behind = standing < answer
    repeats[is_behind] = between[is_behind]
    ahead = np.flatnonzero(standing > answer)
    read = _read_between(pieces, committed[ahead], low[ahead], high[ahead])
    repeats[ahead], skipped[ahead] = -read, between[ahead] - read
    return PositionCost(repeats, skipped)


def _read_between(pieces: Pieces, committed: Int64s, low: Int64s, high: Int64s) -> Int64s:
    """Return how many records of each ``[low, high)`` a group has read that has read all below *low*.

    Counted from the nearer end: up to *high*, or down to it from what is read of all pieces.
    """
    first = np.maximum(np.searchsorted(pieces.start, low, "right") - 1, 0)
    middle = np.searchsorted(pieces.start, high, "left")
    is_far = middle - first > len(pieces) - middle
    begin, end = np.where(is_far, np.maximum(middle - 1, 0), first), np.where(is_far, len(pieces), middle)
    bounds = np.where(is_far, high, low), np.where(is_far, np.iinfo(np.int64).max, high)
    counted = np.zeros(len(committed), np.int64)
    for rows in _chunks(end - begin):
        counted[rows] = _read_of(pieces, committed[rows], (begin[rows], end[rows]), (bounds[0][rows], bounds[1][rows]))
    if not is_far.any():
        return counted
    below = count_read(pieces, committed) - pieces.records_below(low)
    found: Int64s = np.where(is_far, below - counted, counted)
    return found


def _read_of(
    pieces: Pieces, committed: Int64s, span: tuple[NDArray[np.intp], NDArray[np.intp]], bounds: tuple[Int64s, Int64s]
) -> Int64s:
    """Return how many records between its *bounds* each group has read, of the pieces of its *span*."""
    count = span[1] - span[0]
    row = np.repeat(np.arange(len(count)), count)
    piece = np.repeat(span[0] - np.cumsum(count) + count, count) + np.arange(len(row))
    start, length, needs = pieces.start[piece], pieces.length[piece], pieces.needs[piece]
    first, end = (np.minimum(np.maximum(bound[row] - start, 0), length) for bound in bounds)
    ramp = np.minimum(np.maximum(committed[row] - needs, 0), length)
    read_to = np.where(pieces.is_linear[piece], ramp, np.where(needs < committed[row], length, 0))
    read = np.maximum(np.minimum(end, read_to) - first, 0)
    found: Int64s = np.bincount(row, read, len(count)).astype(np.int64)
    return found


def _chunks(size: NDArray[np.intp]) -> Iterator[slice]:
    """Yield slices of rows that together have about :data:`_AT_ONCE`, or one that has more."""
    border = np.searchsorted(np.cumsum(size), np.arange(_AT_ONCE, int(size.sum()) + _AT_ONCE, _AT_ONCE), "left") + 1
    for first, end in pairwise([0, *np.unique(np.minimum(border, len(size))).tolist()]):
        yield slice(first, end)
