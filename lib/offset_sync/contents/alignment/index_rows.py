"""Identities as rows of the index: what is known exactly as headers would have given it, the rest as bounds."""

from __future__ import annotations

import numpy as np

from offset_sync.contents.alignment.records import Identities, Kind
from offset_sync.translate.index.bounds import at_most, not_before
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs


def to_runs(found: Identities, origin: int, seen_ms: int) -> Runs:
    """Return the copies as runs of the log in which they stand, joined and by ascending offset.

    *origin* is the code of the cluster that produced the originals. A copy of which only bounds are known stands in
    the place of the greatest original that it may be of, under the code that says so; an alien is of unknown origin.
    """
    code = np.select([found.kind == Kind.EXACT, found.kind == Kind.BOUNDED], [origin, at_most(origin)], UNKNOWN_ORIGIN)
    of_origin = np.where(found.kind == Kind.ALIEN, found.offset, found.high)
    return _one_each(found.offset, code, of_origin, seen_ms).joined()


def unrecognised(found: Identities, origin: int, seen_ms: int) -> Runs:
    """Return where the originals may stand of which no copy was recognised, by ascending offset of the copies' log."""
    places = found.places
    order = np.lexsort((places.original, places.offset))
    code = np.full(len(order), not_before(origin), np.int64)
    return _one_each(places.offset[order], code, places.original[order], seen_ms).joined()


def _one_each(offset: Int64s, code: Int64s, of_origin: Int64s, seen_ms: int) -> Runs:
    return Runs.of(offset, np.ones(len(offset)), code, of_origin, np.full(len(offset), seen_ms))
