"""Binary Arrow columns as numpy arrays, and spans of their bytes back as Arrow text; nothing loops over rows."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

UUID_BYTES = 16


@dataclass(frozen=True)
class ByteRows:
    """A binary column: row i is ``content[start[i]:end[i]]``, which means nothing where *is_null*.

    Starts and ends never fall from one row to the next (Arrow's own promise), which :func:`gather` relies on.
    """

    content: NDArray[np.uint8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    is_null: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    def row(self, index: int) -> bytes:
        """Return the bytes of one row."""
        return self.content[self.start[index] : self.end[index]].tobytes()


@dataclass(frozen=True)
class Spans:
    """One span of bytes per row, inside that row; empty until set."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]

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
        edges: NDArray[np.int64] = np.zeros(len(array) + 1, np.int64)
    else:
        # int64 because numpy indexes with it: converted once here instead of at every read.
        edges = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    octets = np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8)
    return ByteRows(octets, edges[:-1], edges[1:], is_null)


def gather(rows: ByteRows, spans: Spans, is_null: NDArray[np.bool_]) -> pa.BinaryArray:
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
    return both.take(pa.array(np.arange(0, 2 * count, 2), mask=is_null if is_null.any() else None))


def to_text(octets: pa.BinaryArray) -> tuple[pa.StringArray, NDArray[np.bool_]]:
    """Return the column as text, and which rows are not valid UTF-8 (null in the text).

    Fast while every row is valid; in a batch with bad rows each row is decoded by itself.
    """
    bad = np.zeros(len(octets), np.bool_)
    try:
        return octets.cast(pa.string()), bad
    except pa.ArrowInvalid:
        bad[:] = [value is not None and not _is_utf8(value) for value in octets.to_pylist()]
        return with_nulls(octets, bad).cast(pa.string()), bad


def with_nulls(column: pa.Array, is_null: NDArray[np.bool_]) -> pa.Array:
    """Return the column with nulls where *is_null*, besides the ones it already has."""
    if not is_null.any():
        return column
    return pc.if_else(pa.array(is_null), pa.scalar(None, column.type), column)


def to_uuid_text(rows: ByteRows, position: NDArray[np.int64], present: NDArray[np.bool_]) -> pa.StringArray:
    """Return the UUID at *position* of each row as 36 characters; null where it is not *present* or all zero.

    Positions count from the beginning of the column's bytes. Fast where few are distinct, as topic ids are: only
    distinct ones are formatted.
    """
    if not present.any():
        return pa.nulls(len(position), pa.string())
    octets = window(rows.content, UUID_BYTES)[np.where(present, position, 0)]
    binary = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(UUID_BYTES), len(position), [None, pa.py_buffer(octets.view(np.uint8))]
    )
    encoded = with_nulls(binary, ~present).dictionary_encode()
    texts = [str(UUID(bytes=value)) if any(value) else None for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def window(content: NDArray[np.uint8], width: int) -> NDArray[np.void]:
    """Return a view whose element i is the *width* bytes from i on, as long as there are that many.

    numpy checks every index against it, so even a wrong position can never read beyond the buffer.
    """
    length = max(0, len(content) - width + 1)
    if length == 0:
        return np.empty(0, f"V{width}")
    view: NDArray[np.void] = np.ndarray((length,), f"V{width}", content, strides=(1,))
    return view


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
