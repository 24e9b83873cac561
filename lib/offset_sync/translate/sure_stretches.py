"""Of which stretches of a target's log groups have read everything, and of which nothing, without looking at a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.bounds import origin_of
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s
from offset_sync.translate.index.stretches import Stretches
from offset_sync.translate.partition_log import PartitionLog

Bools = NDArray[np.bool_]


def read_for_sure(
    stretches: Stretches, committed: Int64s, source: PartitionLog, young_since_ms: int
) -> tuple[Bools, Bools]:
    """Return of which stretches groups have read everything, and of which nothing; shapes (stretches, commits).

    A record is unread if its origin offset is above all that stand below the commit at the source, in any order; and
    read if it is not, and below all that stand at or above the commit. What may still fill a hole counts for neither,
    nor does a record of which only a bound is known, unless it was produced at the source.
    """
    everything = np.ones((len(stretches), len(committed)), np.bool_)
    nothing = everything.copy()
    for code, span in stretches.spans.items():
        has_any, origin = (span.records > 0)[:, None], origin_of(code)
        if code == UNKNOWN_ORIGIN:
            everything &= ~has_any
        elif code != origin and origin != source.origin:
            everything &= ~has_any
            nothing &= ~has_any
        else:
            safe, most = _read_to(origin, committed, source, young_since_ms)
            everything &= ~has_any | (span.high[:, None] <= safe[None, :])
            nothing &= ~has_any | (span.low[:, None] > most[None, :])
    return everything, nothing & ~everything


def _read_to(origin: int, committed: Int64s, source: PartitionLog, young_since_ms: int) -> tuple[Int64s, Int64s]:
    """Return up to which offset of *origin* each group has read for certain, and at most; shapes (commits,)."""
    if origin == source.origin:
        return committed - 1, committed - 1
    known = source.index.stretches()
    span = known.span(origin)
    highest_to = np.concatenate(([-1], np.maximum.accumulate(span.high)))
    lowest_from = np.concatenate((np.minimum.accumulate(span.low[::-1])[::-1], [NO_LIMIT]))
    most = highest_to[np.searchsorted(known.start, committed, "left")]
    young = np.flatnonzero(known.seen_ms > young_since_ms)
    settled_to = int(known.start[young[0]]) if len(young) else int(NO_LIMIT)
    passed = known.below(np.minimum(committed, settled_to))
    safe = np.minimum(highest_to[passed], lowest_from[passed] - 1)
    safe = np.minimum(safe, source.index.lost.lowest(origin) - 1)
    safe = np.minimum(safe, source.index.unrecognised.of(origin).first_not_below(committed) - 1)
    return np.where(committed <= source.index.last_unknown, -1, safe), most
