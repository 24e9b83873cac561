"""Columns of int64 with one value in all rows, which take no room: most of a table have the same time, or none.

Such a column is one number that numpy shows as many; it cannot be written to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]


def same_everywhere(value: int, rows: int) -> Int64s:
    """Return a column of *value*, shape (rows,)."""
    return np.broadcast_to(np.array(value, np.int64), (rows,))


def is_same(column: Int64s) -> bool:
    """Return whether a column takes no room; one of equal numbers that does is not told."""
    return column.strides == (0,)


def taken(column: Int64s, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Int64s:
    """Return the chosen rows of a column."""
    if isinstance(rows, slice) or not is_same(column) or len(column) == 0:
        return column[rows]
    return same_everywhere(int(column[0]), int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows))


def together(columns: Sequence[Int64s]) -> Int64s:
    """Return the rows of all *columns*, one after the other."""
    filled = [column for column in columns if len(column)]
    if filled and all(map(is_same, filled)) and len({int(column[0]) for column in filled}) == 1:
        return same_everywhere(int(filled[0][0]), sum(map(len, filled)))
    return np.concatenate(columns)
