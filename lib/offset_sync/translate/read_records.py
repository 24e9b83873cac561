"""How many records of a target's log groups have read, for all their commits at once."""

from __future__ import annotations

import numpy as np

from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.pieces import Pieces

_ZERO = np.zeros(1, np.int64)


def count_read(pieces: Pieces, committed: Int64s) -> Int64s:
    """Return, for each committed offset c, how many records of *pieces* have f < c.

    A linear piece contributes ``clip(c - needs, 0, length)``, which is the difference of two ramps, so all of them
    together cost one sorted search. Sums may wrap around 2**64 on the way; the differences come out right.
    """
    linear = pieces.is_linear
    needs = pieces.needs[linear]
    read = ramp(needs, committed) - ramp(needs + pieces.length[linear], committed)
    if len(needs) < len(linear):
        constant = ~linear
        order = pieces.needs[constant].argsort()
        lengths = np.concatenate((_ZERO, pieces.length[constant][order].cumsum()))
        read += lengths[pieces.needs[constant][order].searchsorted(committed, "left")]
    return read


def ramp(corners: Int64s, committed: Int64s) -> Int64s:
    """Return the sum of ``max(0, c - corner)`` over all corners, for each committed offset c."""
    if not (corners[1:] >= corners[:-1]).all():  # as they are where the log keeps the order
        corners = np.sort(corners)
    sums = np.concatenate((_ZERO, corners.cumsum()))
    below = corners.searchsorted(committed, "left")
    ramp: Int64s = below * committed - sums[below]
    return ramp
