"""A cursor over many rows of bytes at once; the vectorised twin of :class:`offset_sync.decode.cursor.Cursor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offset_sync.decode.arrow_buffers import ByteRows, Spans, window

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Column = NDArray[Any]

_VARINT_BYTES = 5
_VARINT_LIMIT = 1 << 32


class VectorCursor:
    """Reads the same field of all *rows*, field after field; *part* (``key`` or ``value``) begins every message.

    Results go into full-size columns, one element per row of the batch. So a row that fails simply leaves the cursor,
    with its message in *errors*, and all other rows stay aligned. Bounds are checked before each read; the messages
    are those of the scalar cursor.
    """

    def __init__(self, source: ByteRows, rows: NDArray[np.intp], part: str, errors: dict[int, str]) -> None:
        self._source = source
        self._part = part
        self.errors = errors
        self.rows = rows
        everything = len(rows) == len(source)
        self.position: Ints = source.start.copy() if everything else source.start[rows]
        self._end: Ints = source.end if everything else source.end[rows]

    def select(self, chosen: Flags) -> VectorCursor:
        """Return a cursor over the chosen rows that goes on from here; do not use this one for them any more."""
        if chosen.all():
            return self
        part = object.__new__(VectorCursor)
        part._source, part._part, part.errors = self._source, self._part, self.errors
        part.rows, part.position, part._end = self.rows[chosen], self.position[chosen], self._end[chosen]
        return part

    def read(self, column: Column, field: str) -> None:
        """Read big-endian integers as wide as the column's type into *column*."""
        width = column.dtype.itemsize
        left = self.left()
        self.drop(left < width, lambda i: f"{field} needs {width} bytes, {left[i]} left")
        raw = window(self._source.content, width)[self.position]
        column[self.rows] = raw.view(column.dtype.newbyteorder(">"))
        self.position += width

    def read_varint(self, column: Column, field: str) -> None:
        """Read unsigned varints into *column* (int64)."""
        self.drop(self.left() < 1, lambda i: f"{field} varint is cut off after 0 bytes")
        octets = self._source.content[self.position]
        column[self.rows] = octets & 0x7F
        self.position += 1
        longer = np.flatnonzero(octets >= 0x80)
        if len(longer):
            self._read_rest_of_varint(column, longer, field)

    def read_string(self, spans: Spans, field: str, *, compact: bool = False) -> None:
        """Read a string that may not be null: int16 length, or a varint of length + 1 when *compact*."""
        if compact:
            length = np.empty(len(self._source), np.int64)
            self.read_varint(length, f"{field} length")
            length -= 1
        else:
            short = np.empty(len(self._source), np.int16)
            self.read(short, f"{field} length")
            length = short.astype(np.int64)
        self.skip(length, field)
        spans.end[self.rows] = self.position
        spans.start[self.rows] = self.position - length[self.rows]

    def skip(self, lengths: Ints, field: str) -> None:
        """Skip as many bytes of each row as *lengths*, a full-size column, says; every length is checked first."""
        length = lengths[self.rows]
        left = self.left()

        def message(i: int) -> str:
            if length[i] == -1:
                return f"{field} is null"
            if length[i] < 0:
                return f"{field} length {length[i]} is negative"
            return f"{field} length {length[i]} exceeds the {left[i]} bytes left"

        wrong = (length < 0) | (length > left)
        self.drop(wrong, message)
        self.position += length[~wrong] if len(self.rows) < len(length) else length

    def drop(self, wrong: Flags, message: Callable[[int], str]) -> None:
        """Take the *wrong* rows out of the cursor; ``message(i)`` says why, where i counts the rows of the cursor."""
        if not wrong.any():
            return
        for i in np.flatnonzero(wrong).tolist():
            self.errors[int(self.rows[i])] = f"{self._part}: {message(i)}"
        self.rows, self.position, self._end = self.rows[~wrong], self.position[~wrong], self._end[~wrong]

    def left(self) -> Ints:
        """Return how many bytes each row has left."""
        return self._end - self.position

    def _read_rest_of_varint(self, column: Column, longer: NDArray[np.intp], field: str) -> None:
        """Read on where the first byte (already stored) has its high bit set; *longer* indexes the cursor's rows."""
        position, left = self.position[longer], self.left()[longer]
        number = column[self.rows[longer]].astype(np.int64)
        width = np.ones(len(longer), np.int64)
        is_open = np.ones(len(longer), np.bool_)
        for index in range(1, _VARINT_BYTES):
            readable = is_open & (left >= index)
            octets = self._source.content[np.where(readable, position + index - 1, 0)]
            number |= np.where(readable, (octets & 0x7F).astype(np.int64) << (7 * index), 0)
            width += readable
            is_open &= ~(readable & (octets < 0x80))
        column[self.rows[longer]] = number
        self.position[longer] += width - 1
        self._drop_varints(longer, width, is_open, number >= _VARINT_LIMIT, field)

    def _drop_varints(
        self, longer: NDArray[np.intp], width: Ints, is_open: Flags, too_large: Flags, field: str
    ) -> None:
        wrong = np.zeros(len(self.rows), np.bool_)
        wrong[longer] = is_open | too_large

        def message(i: int) -> str:
            at = int(np.searchsorted(longer, i))
            if not is_open[at]:
                return f"{field} varint exceeds 32 bits"
            if width[at] < _VARINT_BYTES:
                return f"{field} varint is cut off after {width[at]} bytes"
            return f"{field} varint is longer than {_VARINT_BYTES} bytes"

        self.drop(wrong, message)
