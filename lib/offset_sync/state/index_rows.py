"""Rows of ``record_runs`` as arrays: what of them can be believed, and where something lacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.tables.catalog import BEGINS
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs


def readable(rows: Runs) -> Runs:
    """Return *rows*; those with an origin offset that no log can have are of unknown origin: unread by everyone.

    The decoder lets none through; what an earlier version has written down is still in the table.
    """
    is_wrong = (rows.length > 0) & ((rows.origin_start < 0) | (rows.origin_start > NO_LIMIT - rows.length))
    if not is_wrong.any():
        return rows
    origin = np.where(is_wrong, np.int32(UNKNOWN_ORIGIN), rows.origin)
    return replace(rows, origin=origin, origin_start=np.where(is_wrong, rows.start, rows.origin_start))


def with_gaps(rows: Runs, frontier: int) -> Runs:
    """Return the runs among *rows*, and as records unread by everyone what nobody has read.

    Each micro-batch begins where the one before has ended. Where it does not, a checkpoint or a table was set back or
    made anew, and there may be records between. What lies below *frontier* is known, however it is repeated.
    """
    covered = np.maximum.accumulate(np.concatenate(([frontier], rows.end[:-1])))
    is_gap = (rows.length == 0) & (rows.origin_start == BEGINS) & (rows.start > covered)
    if is_gap.any():
        start = np.where(is_gap, covered, rows.start)
        origin = np.where(is_gap, np.int32(UNKNOWN_ORIGIN), rows.origin)
        length = np.where(is_gap, rows.start - covered, rows.length)
        rows = Runs(start, length, origin, np.where(is_gap, start, rows.origin_start), rows.indexed_at_ms)
    return rows.take(rows.length > 0)


def borders(rows: pa.Table) -> list[int]:
    """Return where the partition changes in sorted rows, with 0 in front and the number of rows at the end."""
    changed = np.zeros(rows.num_rows - 1, np.bool_)
    for name in ("cluster", "topic", "partition"):
        codes = rows.column(name).combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        changed |= codes[1:] != codes[:-1]
    return [0, *(np.flatnonzero(changed) + 1).tolist(), rows.num_rows]


def int64s(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a column of numbers or times, 0 for null."""
    values: NDArray[np.int64] = column.cast(pa.int64()).fill_null(0).to_numpy()
    return values
