"""Codes of origins for what is known of a record's identity by bounds alone, as in a mirror that stamps no headers.

A row that says "at most" is a record of the log: it stands in place of the greatest original that the record can be of,
and counts only where the log is the target. A row that says "not before" is none: an original that nobody recognised
among the copies may stand as late as there, and no earlier place of it can be believed. Both have codes of their own,
below ``UNKNOWN_ORIGIN``, so a log without such rows has nothing to carry for them::

    origin        0   1   2
    at most      -2  -4  -6
    not before   -3  -5  -7
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s

Bools = NDArray[np.bool_]


def at_most(origin: int) -> int:
    """Return the code of records whose original, of *origin*, has at most the offset that the row names."""
    return -2 - 2 * origin


def not_before(origin: int) -> int:
    """Return the code of rows that say: originals of *origin* may stand as late as here."""
    return -3 - 2 * origin


def origin_of(code: int) -> int:
    """Return the origin of which a code says something, whatever it says."""
    return code if code >= UNKNOWN_ORIGIN else (-2 - code) // 2


def with_bounds(origin: Int64s, is_at_most: Bools, is_not_before: Bools) -> Int64s:
    """Return the codes of rows, shape (rows,), by what they say of *origin*; an unknown one stays what it is."""
    found: Int64s = np.select(
        [origin == UNKNOWN_ORIGIN, is_at_most, is_not_before], [origin, -2 - 2 * origin, -3 - 2 * origin], origin
    )
    return found


def says_not_before(code: Int64s) -> Bools:
    """Return which codes are of rows that are no records."""
    found: Bools = (code < UNKNOWN_ORIGIN) & (code % 2 == 1)
    return found
