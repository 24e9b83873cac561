"""Of which originals a copy may stand how late, where the original of a copy is not known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from offset_sync.contents.alignment.original_window import OriginalWindow
from offset_sync.contents.alignment.pending import Pending
from offset_sync.contents.alignment.records import Places
from offset_sync.translate.index.runs import Int64s

_AT_ONCE = 1 << 21
"""So many pairs of a copy and an original are held in memory at a time, or those of one copy."""


def possible_places(copies: Pending, low: Int64s, high: Int64s, known: Int64s, window: OriginalWindow) -> Places:
    """Return the last of *copies* that each original may be of, shapes (copies,).

    Originals with the contents of a copy count that lie in its ``[low, high)``, but not those of *known*, ascending:
    of these a copy was recognised.
    """
    found = Places.none()
    for part in _parts(copies.count):
        row, original = window.members(copies.fingerprint[part], low[part], high[part])
        at = np.concatenate((found.offset, copies.offset[part][row]))
        found = last_of_each(np.concatenate((found.original, original)), at)
    kept = ~_is_among(found.original, known)
    return Places(found.original[kept], found.offset[kept])


def _parts(count: Int64s) -> Iterator[slice]:
    """Yield slices of copies that have about :data:`_AT_ONCE` originals together."""
    size = np.cumsum(np.minimum(count, _AT_ONCE))
    edges = np.searchsorted(size, np.arange(0, int(size[-1]) + _AT_ONCE, _AT_ONCE)) if len(count) else np.zeros(1)
    for first, end in pairwise(np.unique(edges).tolist()):
        yield slice(first, end)


def last_of_each(original: Int64s, offset: Int64s) -> Places:
    """Return the greatest *offset* of each original, which are ascending and distinct then; shapes (pairs,)."""
    order = np.lexsort((offset, original))
    original, offset = original[order], offset[order]
    is_last = np.append(original[1:] != original[:-1], np.ones(min(len(original), 1), np.bool_))
    return Places(original[is_last], offset[is_last])


def _is_among(values: Int64s, ascending: Int64s) -> NDArray[np.bool_]:
    if len(ascending) == 0:
        return np.zeros(len(values), np.bool_)
    at = np.minimum(ascending.searchsorted(values), len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[at] == values
    return found
