"""Of which stretches of a target's log groups have read everything, and of which nothing, without looking at a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.bounds import origin_of
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN
from offset_sync.translate.index.stretches import Stretches
from offset_sync.translate.read_heights import ReadHeights

Bools = NDArray[np.bool_]


def read_for_sure(stretches: Stretches, heights: ReadHeights, rows: Bools, source_origin: int) -> tuple[Bools, Bools]:
    """Return of which stretches the groups *rows* have read everything, and of which nothing.

    Both have shape (stretches, rows). A record is unread if its origin offset is above all that stand below the commit
    at the source, in any order; and read if it is not, and below all that stand at or above the commit. What may still
    fill a hole counts for neither, nor does a record of which only a bound is known, unless it was produced at the
    source.
    """
    everything = np.ones((len(stretches), np.count_nonzero(rows)), np.bool_)
    nothing = everything.copy()
    for code, span in stretches.spans.items():
        has_any, origin = (span.records > 0)[:, None], origin_of(code)
        if code == UNKNOWN_ORIGIN:
            everything &= ~has_any
        elif code != origin and origin != source_origin:
            everything &= ~has_any
            nothing &= ~has_any
        else:
            is_settled = ~heights.is_open(origin, span.low, span.high)[:, None]
            everything &= ~has_any | (is_settled & (span.high[:, None] <= heights.safe(origin)[rows]))
            nothing &= ~has_any | (span.low[:, None] > heights.most(origin)[rows])
    return everything, nothing & ~everything


def origins_in(stretches: Stretches) -> set[int]:
    """Return the origins of which *stretches* have records or bounds, without the unknown one."""
    return {origin_of(code) for code in stretches.spans} - {UNKNOWN_ORIGIN}


def is_told_by_heights(stretches: Stretches, heights: ReadHeights) -> Bools:
    """Return which of *stretches* hold only records of which the heights of decided commits tell all."""
    found = np.ones(len(stretches), np.bool_)
    for code, span in stretches.spans.items():
        is_open = code <= UNKNOWN_ORIGIN or heights.is_open(code, span.low, span.high)
        found &= (span.records == 0) | ~np.asarray(is_open)
    return found
