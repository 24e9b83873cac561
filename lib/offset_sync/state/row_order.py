"""How rows of many logs are put in order, where they are not in it already."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import Int64s

_SORTED_ALONE = 64
"""So many logs out of order are sorted one by one, more of them all at once."""


def by_offset(log: Int64s, start: Int64s, wrong: Int64s) -> NDArray[np.intp]:
    """Return how rows by *log* are put in order by *start*, of which the logs *wrong* are not."""
    if len(wrong) > _SORTED_ALONE:
        return np.lexsort((start, log))
    order = np.arange(len(log))
    edges = np.stack([np.searchsorted(log, wrong, side) for side in ("left", "right")], 1)
    for first, end in edges.tolist():
        order[first:end] = first + np.argsort(start[first:end], kind="stable")
    return order


def ascends(values: NDArray[np.integer[Any]]) -> bool:
    """Return whether none of *values* is below the one before it."""
    return bool((values[1:] >= values[:-1]).all())


def narrow(log: Int64s) -> NDArray[np.integer[Any]]:
    """Return the same in 16 bits where that is enough: numpy sorts these by radix."""
    return log.astype(np.uint16) if int(log.max()) < 1 << 16 else log
