"""What a group would read twice, and what it would skip, at its present position at the target or at an answer.

Everything below t(c) is read, so a position *below* it costs the records between. Above t(c) some are unread, and a
group that went on there would never see them::

    t(c) = 5         3   4 | 5   6   7   8          position 3: reads 3 and 4 again
    read             yes yes no  yes no  yes        position 8: skips 5 and 7, and does not repeat 6

Such a record stands at the source where the index has not read yet, or where it could not read the headers, and which
one it is nobody can tell. So at most as many are read as there are such places below the commit::

    source X   x0 ?  x2 z4 | x4 ..       commit 6, indexed up to 4: the places are 1, 4 and 5
    target Y   x0 y0 z5 y1               y0, z5 and y1 may be read, each of them at one of the three places

A record that a cut has taken from the source stands there no more, and may have been read before. So may one of which
only bounds are known, and one that nobody recognised at the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, members, records_below
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import Pieces, cut_pieces
from offset_sync.translate.read_heights import constant_below, count_read, linear_below
from offset_sync.translate.read_window import ReadWindow

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

    What lies between is looked at page by page, so no more than a page of it is cut into pieces at a time.
    All shapes are (commits,). The answer is t(c) or, where that is deleted, the log start; no position is below the
    log start either. Errs to too many skipped: what is not known to be read counts as unread.
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

    Counted from the nearer end: from *low* up to *high*, or from *high* to the end and taken off the whole.
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
    """Yield slices of rows that hold about :data:`_AT_ONCE` pieces together; a row that holds more stands alone."""
    border = np.searchsorted(np.cumsum(size), np.arange(_AT_ONCE, int(size.sum()) + _AT_ONCE, _AT_ONCE), "left") + 1
    for first, end in pairwise([0, *np.unique(np.minimum(border, len(size))).tolist()]):
        yield slice(first, end)


def possible_duplicates(window: ReadWindow, committed: Int64s, source: LogIndex) -> Int64s:
    """Return the greatest number of records that each group may have read without our knowing, shape (commits,).

    *window* is of the target; what lies below its log start nobody reads again. Errs to too many. A record of the
    target that could not be identified may be any.
    """
    beyond = np.maximum(committed - source.frontier, 0)
    may_be_read = np.where(beyond > 0, np.minimum(beyond + window.unknown_copies, window.unknown_left), 0)
    if UNKNOWN_ORIGIN in source.origins:
        unreadable = records_below(*source.unknown_ranges, committed)
        at_most = window.unread()
        if window.pieces is not None:
            places = beyond + unreadable + window.unknown_copies + _copies_unread(window.pieces, committed)
            at_most = np.minimum(places, at_most)
        may_be_read = np.where(unreadable > 0, at_most, may_be_read)
    uncertain: Int64s | int = window.bounded
    if source.unrecognised_records:
        copies = _copies_unread(window.pieces, committed) if window.pieces is not None else window.unread()
        # Where nothing later of their origin is there, originals that nobody recognised show nothing to count by.
        uncertain = uncertain + source.unrecognised_records + copies + window.unknown_copies
    if window.bounded or source.unrecognised_records:
        may_be_read = np.minimum(may_be_read + uncertain, window.unread())
    if source.lost_records:
        may_be_read = np.minimum(may_be_read + source.lost_records, window.unread())
    total: Int64s = may_be_read + window.malformed_left
    return total


def _copies_unread(pieces: Pieces, committed: Int64s) -> Int64s:
    """Return how many unread records are further copies of another; of a hole each may be one.

    Copies of a record stand at the same place of the source, so they are as many as the overlaps of these places.
    """
    start, length = pieces.needs[pieces.is_linear], pieces.length[pieces.is_linear]
    order = np.argsort(start, kind="stable")
    start, end = start[order], (start + length)[order]
    covered = np.concatenate((start[:1], np.maximum.accumulate(end)[:-1]))
    first = np.minimum(np.maximum(start, covered), end)
    is_hole = ~pieces.is_linear & ~pieces.is_malformed & ~pieces.is_unknown
    holes = pieces.length[is_hole].sum() - constant_below(pieces, is_hole, committed)
    all_places = int((end - start).sum()) - linear_below(start, end, committed)
    distinct = int((end - first).sum()) - linear_below(first, end, committed)
    found: Int64s = holes + all_places - distinct
    return found
