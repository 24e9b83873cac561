"""How many records of a target's log groups have read, for all their commits at once."""

from __future__ import annotations

import numpy as np

from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.pieces import Pieces


def count_read(pieces: Pieces, committed: Int64s) -> Int64s:
    """Return, for each committed offset c, how many records of *pieces* have f < c.

    A linear piece contributes ``clip(c - needs, 0, length)``, which is the difference of two ramps, so all of them
    together cost one sorted search. Sums may wrap around 2**64 on the way; the differences come out right.
    """
    linear, constant = pieces.is_linear, ~pieces.is_linear
    needs = pieces.needs[linear]
    read = ramp(needs, committed) - ramp(needs + pieces.length[linear], committed)
    order = np.argsort(pieces.needs[constant])
    lengths = np.concatenate(([0], np.cumsum(pieces.length[constant][order])))
    read += lengths[np.searchsorted(pieces.needs[constant][order], committed, "left")]
    return read


def records_below(start: Int64s, length: Int64s, offset: Int64s) -> Int64s:
    """Return how many records stand below each offset, shape (offsets,), in stretches by ascending *start*."""
    if len(start) == 0:
        return np.zeros(len(offset), np.int64)
    row = np.searchsorted(start, offset, "right") - 1
    at = np.maximum(row, 0)
    into = np.clip(offset - start[at], 0, length[at])
    before = np.concatenate(([0], np.cumsum(length)))
    return np.where(row >= 0, before[at] + into, 0)


def ramp(corners: Int64s, committed: Int64s) -> Int64s:
    """Return the sum of ``max(0, c - corner)`` over all corners, for each committed offset c."""
    corners = np.sort(corners)
    sums = np.concatenate(([0], np.cumsum(corners)))
    below = np.searchsorted(corners, committed, "left")
    ramp: Int64s = below * committed - sums[below]
    return ramp
