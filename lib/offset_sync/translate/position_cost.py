"""What a group would read twice or skip at its present position at the target, compared with an answer.

Everything below t(c) is read, so a position *below* it costs the records between. Above t(c) some are unread, and a
group that resumed there would never see them::

    t(c) = 5         3   4 | 5   6   7   8          position 3: reads 3 and 4 again
    read             yes yes no  yes no  yes        position 8: skips 5 and 7, and does not repeat 6
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import Int64s, members
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import Pieces, cut_pieces
from offset_sync.translate.read_heights import count_read

_AT_ONCE = 1 << 20
"""How many pieces, of all groups together, are held in memory at a time."""


@dataclass(frozen=True)
class PositionCost:
    """What a position other than t(c) changes, in records; arrays of shape (commits,).

    *repeats* is the difference to the duplicates at t(c), so it may be negative; *skipped* are never read.
    """

    repeats: Int64s
    skipped: Int64s


def position_cost(
    committed: Int64s,
    answer: Int64s,
    position: Int64s,
    source: PartitionLog,
    target: PartitionLog,
    young_since_ms: int,
) -> PositionCost:
    """Compare each group's *position* at the target with the *answer* to what it *committed* at the source.

    The records between are cut into pieces page by page, no more than a page at a time. All shapes are (commits,). The
    answer is t(c) or, where that is deleted, the log start; no position is below the log start either. Errs to too many
    skipped: records not known to be read count as unread.
    """
    repeats, skipped = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    differs = np.flatnonzero(position != answer)
    if len(differs) == 0:
        return PositionCost(repeats, skipped)
    low, high = np.minimum(answer, position), np.maximum(answer, position)
    lowest, highest = int(low[differs].min()), int(high[differs].max())
    is_behind, ahead = position < answer, np.flatnonzero(position > answer)
    for runs in target.index.paged.parts(lowest, highest):
        pieces = cut_pieces(runs, source, young_since_ms).below(highest)
        if len(pieces):
            between = pieces.records_below(high) - pieces.records_below(low)
            repeats[is_behind] += between[is_behind]
            read = _read_of_part(pieces, committed[ahead], low[ahead], high[ahead])
            repeats[ahead] -= read
            skipped[ahead] += between[ahead] - read
    return PositionCost(repeats, skipped)


def _read_of_part(pieces: Pieces, committed: Int64s, low: Int64s, high: Int64s) -> Int64s:
    """Return how many records of ``[low, high)`` each group has read among those of *pieces*, a part of the log."""
    begin, end = pieces.start[0], pieces.start[-1] + pieces.length[-1]
    is_whole, is_cut = (low <= begin) & (high >= end), (low < end) & (high > begin)
    read = np.zeros(len(committed), np.int64)
    read[is_whole] = count_read(pieces, committed[is_whole])
    some = is_cut & ~is_whole
    if some.any():
        read[some] = _read_between(pieces, committed[some], low[some], high[some])
    return read


def _read_between(pieces: Pieces, committed: Int64s, low: Int64s, high: Int64s) -> Int64s:
    """Return how many records of ``[low, high)`` each group has read; it has read everything below *low*.

    Counted from the nearer end: from *low* up to *high*, or from *high* to the end and subtracted from the whole.
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
    """Return how many records between its two *bounds* each group has read; its pieces are those of its *span*."""
    row, piece = members(span[0], span[1] - span[0])
    start, length, needs = pieces.start[piece], pieces.length[piece], pieces.needs[piece]
    first, end = (np.minimum(np.maximum(bound[row] - start, 0), length) for bound in bounds)
    ramp = np.minimum(np.maximum(committed[row] - needs, 0), length)
    read_to = np.where(pieces.is_linear[piece], ramp, np.where(needs < committed[row], length, 0))
    read = np.maximum(np.minimum(end, read_to) - first, 0)
    found: Int64s = np.bincount(row, read, len(committed)).astype(np.int64)
    return found


def _chunks(size: NDArray[np.intp]) -> Iterator[slice]:
    """Yield slices of rows that hold about :data:`_AT_ONCE` pieces together; a larger row is a slice of its own."""
    border = np.searchsorted(np.cumsum(size), np.arange(_AT_ONCE, int(size.sum()) + _AT_ONCE, _AT_ONCE), "left") + 1
    for first, end in pairwise([0, *np.unique(np.minimum(border, len(size))).tolist()]):
        yield slice(first, end)
