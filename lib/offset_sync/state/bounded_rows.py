"""Rows of ``record_runs`` that say of a record only bounds, as they are taken in: apart from records and coverage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from offset_sync.state.index_rows import IndexRows
from offset_sync.translate.index.bounds import origin_of, says_not_before
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs


def split_bounds(rows: IndexRows) -> tuple[IndexRows, Runs | None]:
    """Return the *rows* of a log that are records or coverage, and those that say where others may stand, if any."""
    if len(rows) == 0 or int(rows.origin.min()) >= UNKNOWN_ORIGIN or not (apart := says_not_before(rows.origin)).any():
        return rows, None
    others = rows.take(apart).runs
    origin = np.array([origin_of(code) for code in others.origin.tolist()], np.int32)
    return rows.take(~apart), replace(others, origin=origin)


def without_bounds(rows: IndexRows) -> IndexRows:
    """Return *rows* of a log without what is said by bounds: such records are of unknown origin, unread by everyone.

    For partitions of which some log has another life than its first: of which one a bound speaks nobody can tell.
    """
    rows, _ = split_bounds(rows)
    is_bounded = rows.origin < UNKNOWN_ORIGIN
    if not is_bounded.any():
        return rows
    origin = np.where(is_bounded, UNKNOWN_ORIGIN, rows.origin)
    return replace(rows, origin=origin, origin_start=np.where(is_bounded, rows.start, rows.origin_start))
