"""Columns of int64 in few bytes: each as its least value and what is above it, as wide as the widest needs.

Rows that lie side by side in a log differ little, so a run takes about 14 bytes instead of 40.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offset_sync.state.equal_columns import is_same, same_everywhere

_WIDTHS: dict[int, type[Any]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}
_WHOLE = 8


def pack(columns: Sequence[NDArray[np.int64]]) -> bytes:
    """Return *columns*, shape (rows,) each, as bytes."""
    facts, parts = [len(columns), len(columns[0])], list[bytes]()
    for column in columns:
        ends = column[:1] if is_same(column) else column
        low, high = (int(ends.min()), int(ends.max())) if len(column) else (0, 0)
        width = next((width for width in (0, 1, 2, 4) if high - low < 1 << 8 * width), _WHOLE)
        facts += [low, width]
        if width == _WHOLE:
            parts.append(np.ascontiguousarray(column, np.int64).tobytes())
        elif width:
            parts.append((column - low).astype(_WIDTHS[width]).tobytes())
    return b"".join((np.array(facts, np.int64).tobytes(), *parts))


def unpack(data: bytes | bytearray) -> list[NDArray[np.int64]]:
    """Return what was packed; it is not to be written to."""
    count, rows = np.frombuffer(data, np.int64, 2).tolist()
    facts = np.frombuffer(data, np.int64, 2 * count, 16).tolist()
    columns, at = list[NDArray[np.int64]](), 16 + 16 * count
    for low, width in zip(facts[::2], facts[1::2], strict=True):
        if width == _WHOLE:
            columns.append(np.frombuffer(data, np.int64, rows, at).copy())  # where it lies well
        elif width:
            columns.append(np.frombuffer(data, _WIDTHS[width], rows, at) + np.int64(low))
        else:
            columns.append(same_everywhere(low, rows))
        at += width * rows
    return columns
