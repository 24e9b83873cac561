"""Binary Arrow columns as numpy arrays, a cursor over many rows of bytes at once; nothing loops over rows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class ByteRows:
    """A binary column: row i is ``content[start[i]:end[i]]``, undefined where *is_null*.

    Starts and ends never decrease, as Arrow promises and :func:`gather` relies on.
    """

    content: NDArray[np.uint8]
    start: Ints
    end: Ints
    is_null: Flags

    def __len__(self) -> int:
        return len(self.start)

    def row(self, index: int) -> bytes | None:
        """Return the bytes of one row."""
        return None if self.is_null[index] else self.content[self.start[index] : self.end[index]].tobytes()


@dataclass(frozen=True)
class Spans:
    """One span of bytes per row, inside that row; empty until set."""

    start: Ints
    end: Ints

    @classmethod
    def empty(cls, rows: ByteRows) -> Spans:
        """Return a span of no bytes for each of *rows*."""
        return cls(rows.start.copy(), rows.start.copy())


def to_byte_rows(column: pa.Array | pa.ChunkedArray) -> ByteRows:
    """Return any binary-like column as numpy arrays over its own buffers; slices and nulls are respected.

    Nothing is copied unless the column is chunked or has another layout than ``binary``. Raises
    ``pa.ArrowInvalid`` when a large column holds 2 GiB or more: pass smaller batches.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_binary(array.type):
        array = array.cast(pa.binary())
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    _, offsets, content = array.buffers()
    if len(array) == 0 or offsets is None:
        edges: Ints = np.zeros(len(array) + 1, np.int64)
    else:
        # int64 because numpy indexes with it: converted once here instead of at every read.
        edges = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    octets = np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8)
    return ByteRows(octets, edges[:-1], edges[1:], is_null)


def gather(rows: ByteRows, spans: Spans, is_null: Flags) -> pa.BinaryArray:
    """Copy one span per row into a new binary array, null where *is_null*.

    Spans never overlap nor go back, so together with the gaps between them they are an Arrow array over the same
    bytes already (span, gap, span, gap, ...). Taking every second element is then a single pass of memory copies.
    """
    count = len(rows)
    if count == 0:
        return pa.array([], pa.binary())
    edges = np.empty(2 * count, np.int32)
    edges[0::2] = spans.start
    edges[1::2] = spans.end
    both = pa.BinaryArray.from_buffers(
        pa.binary(), 2 * count - 1, [None, pa.py_buffer(edges), pa.py_buffer(rows.content)]
    )
    return both.take(pa.array(np.arange(0, 2 * count, 2), mask=is_null))


def to_text(octets: pa.BinaryArray) -> tuple[pa.StringArray, Flags]:
    """Return the column as text, and which rows are not valid UTF-8 (null in the text).

    Fast while every row is valid; in a batch with bad rows each row is decoded by itself.
    """
    bad = np.zeros(len(octets), np.bool_)
    try:
        return octets.cast(pa.string()), bad
    except pa.ArrowInvalid:
        bad[:] = [value is not None and not is_utf8(value) for value in octets.to_pylist()]
        return with_nulls(octets, bad).cast(pa.string()), bad


def is_utf8(octets: bytes) -> bool:
    """Whether *octets* are text."""
    try:
        octets.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def with_nulls(column: pa.Array, is_null: Flags) -> pa.Array:
    """Return the column with nulls where *is_null*, besides the ones it already has."""
    if not is_null.any():
        return column
    return pc.if_else(pa.array(is_null), pa.scalar(None, column.type), column)


def window(content: NDArray[np.uint8], width: int) -> NDArray[np.void]:
    """Return a view whose element i is the *width* bytes from i on, as long as there are that many.

    numpy checks every index against it, so even a wrong position can never read beyond the buffer.
    """
    length = max(0, len(content) - width + 1)
    if length == 0:
        return np.empty(0, f"V{width}")
    view: NDArray[np.void] = np.ndarray((length,), f"V{width}", content, strides=(1,))
    return view


class BulkCursor:
    """Reads one field of all *rows* at a time; a row too short for it is dropped from the cursor.

    Results go into full-size columns, one element per row of the batch, so that the remaining rows stay aligned. Bounds
    are checked before each read. Arrays are replaced and never changed, because cursors share them.
    :class:`offset_sync.decode.cursor.Cursor` says what is wrong with a row.
    """

    def __init__(self, source: ByteRows, rows: Rows) -> None:
        self._source = source
        self.rows = rows
        self.position: Ints = source.start[rows]
        self._end: Ints = source.end[rows]

    def select(self, chosen: Flags) -> BulkCursor:
        """Return a cursor over the chosen rows that continues at their positions."""
        part = copy(self)
        part.keep(chosen)
        return part

    def keep(self, fits: Flags) -> None:
        """Drop the rows that do not fit from the cursor."""
        if not fits.all():
            self.rows, self.position, self._end = self.rows[fits], self.position[fits], self._end[fits]

    def read(self, column: NDArray[Any]) -> None:
        """Read big-endian integers as wide as the column's type into *column*."""
        width = column.dtype.itemsize
        self.keep(self._end - self.position >= width)
        raw = window(self._source.content, width)[self.position]
        column[self.rows] = raw.view(column.dtype.newbyteorder(">"))
        self.position = self.position + width

    def read_string(self, spans: Spans, *, compact: bool = False) -> None:
        """Read a string that may not be null: int16 length, or a varint of length + 1 when *compact*."""
        if compact:
            length = self._varint() - 1
        else:
            column = np.empty(len(self._source), np.int16)
            self.read(column)
            length = column[self.rows].astype(np.int64)
        begins = self.position
        fits = (length >= 0) & (length <= self._end - begins)
        self.keep(fits)
        begins, length = begins[fits], length[fits]
        self.position = begins + length
        spans.start[self.rows] = begins
        spans.end[self.rows] = self.position

    def skip(self, size: int) -> None:
        """Skip *size* bytes of each row."""
        self.keep(self._end - self.position >= size)
        self.position = self.position + size

    def _varint(self) -> Ints:
        """Read unsigned varints of one or two bytes, so lengths up to 16,383; rows with longer ones are dropped."""
        self.keep(self.position < self._end)
        octets = self._source.content
        number = octets[self.position].astype(np.int64)
        is_long = number >= 0x80
        if is_long.any():
            last = np.minimum(self.position + 1, len(octets) - 1)
            second = octets[last].astype(np.int64)
            fits = ~is_long | ((second < 0x80) & (self.position + 1 < self._end))
            number = np.where(is_long, number - 0x80 + (second << 7), number)[fits]
            is_long = is_long[fits]
            self.keep(fits)
        self.position = self.position + 1 + is_long
        return number
