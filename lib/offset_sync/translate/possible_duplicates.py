"""How many records a group may have read at the source without our knowing, and would read again at the target.

Such a record stands at the source where the index has not read yet, or where it could not read the headers, and which
one it is nobody can tell. So at most as many are read as there are such places below the commit::

    source X   x0 ?  x2 z4 | x4 ..       commit 6, indexed up to 4: the places are 1, 4 and 5
    target Y   x0 y0 z5 y1               y0, z5 and y1 may be read, each of them at one of the three places

A record that a cut has taken from the source stands there no more, and may have been read before. So may one of which
only bounds are known, and one that nobody recognised at the source.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s
from offset_sync.translate.pieces import Pieces
from offset_sync.translate.read_records import ramp
from offset_sync.translate.read_window import ReadWindow


def possible_duplicates(window: ReadWindow, committed: Int64s, source: LogIndex) -> Int64s:
    """Return the greatest number of records that each group may have read without our knowing, shape (commits,).

    *window* is of the target; what lies below its log start nobody reads again. Errs to too many. A record of the
    target that could not be identified may be any.
    """
    beyond = np.maximum(committed - source.frontier, 0)
    may_be_read = np.where(beyond > 0, np.minimum(beyond + window.unknown_copies, window.unknown_left), 0)
    if UNKNOWN_ORIGIN in source.origins:
        unreadable = _below(*source.unknown_ranges, committed)
        at_most = window.unread()
        if window.pieces is not None:
            places = beyond + unreadable + window.unknown_copies + _copies_unread(window.pieces, committed)
            at_most = np.minimum(places, at_most)
        may_be_read = np.where(unreadable > 0, at_most, may_be_read)
    uncertain: Int64s | int = window.bounded
    if source.unrecognised.records:
        copies = _copies_unread(window.pieces, committed) if window.pieces is not None else window.unread()
        # Where nothing later of their origin is there, originals that nobody recognised show nothing to count by.
        uncertain = uncertain + source.unrecognised.records + copies + window.unknown_copies
    if window.bounded or source.unrecognised.records:
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
    holes = pieces.length[is_hole].sum() - _constant_below(pieces, is_hole, committed)
    all_places = int((end - start).sum()) - _below(start, end - start, committed)
    distinct = int((end - first).sum()) - _below(first, end - first, committed)
    found: Int64s = holes + all_places - distinct
    return found


def _constant_below(pieces: Pieces, chosen: NDArray[np.bool_], committed: Int64s) -> Int64s:
    """Return how many records of the *chosen* pieces, which are not linear, each commit has passed."""
    order = np.argsort(pieces.needs[chosen], kind="stable")
    passed = np.concatenate(([0], np.cumsum(pieces.length[chosen][order])))
    found: Int64s = passed[np.searchsorted(pieces.needs[chosen][order], committed, "left")]
    return found


def _below(start: Int64s, length: Int64s, committed: Int64s) -> Int64s:
    """Return how much of the ranges ``[start, start + length)`` lies below each commit, all ranges together."""
    return ramp(start, committed) - ramp(start + length, committed)
