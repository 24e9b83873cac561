"""Arrow columns of every shape: slices, nulls, chunks, other layouts, nothing at all."""

from __future__ import annotations

import itertools
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest

from builders.offset_records import commit_key, commit_value, group_key
from offset_sync.decode.byte_rows import BulkCursor, Spans, to_byte_rows, to_text, window, with_nulls
from offset_sync.decode.consumer_offsets import RECORDS, decode_records
from offset_sync.decode.cursor import Cursor, DecodeError
from oracles.decode import decode_record

BATCH = [
    (commit_key("first", "orders", 0), commit_value(1, metadata="one")),
    (commit_key("second", "orders", 1), None),
    (None, commit_value(3)),
    (commit_key("fourth", "pay", 2), commit_value(4, version=1, expires_at_ms=9)),
    (group_key("fifth"), None),
    (commit_key("sixth", "pay", 3), commit_value(6, version=3, epoch=2, tags=[(0, b"i" * 16)])),
]
KEYS, VALUES = [key for key, _ in BATCH], [value for _, value in BATCH]
EXPECTED = [asdict(decode_record(key, value)) for key, value in BATCH]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_every_binary_layout_is_read(kind: pa.DataType) -> None:
    assert decode_records(pa.array(KEYS, kind), pa.array(VALUES, kind)).to_pylist() == EXPECTED


def test_chunks_are_one_column_and_need_not_match() -> None:
    keys = pa.chunked_array([KEYS[:1], KEYS[1:4], [], KEYS[4:]], pa.binary())
    values = pa.chunked_array([VALUES[:3], VALUES[3:]], pa.binary())
    assert decode_records(keys, values).to_pylist() == EXPECTED
    no_chunks = pa.chunked_array([], pa.binary())
    assert decode_records(no_chunks, no_chunks).num_rows == 0


def test_a_slice_of_a_slice_starts_where_it_says() -> None:
    keys, values = pa.array(KEYS, pa.binary()).slice(1).slice(2, 3), pa.array(VALUES, pa.binary()).slice(3, 3)
    assert decode_records(keys, values).to_pylist() == EXPECTED[3:6]


def test_nothing_in_gives_nothing_out_with_all_columns() -> None:
    empty = pa.array([], pa.binary())
    assert decode_records(empty, empty).schema == RECORDS
    assert decode_records(pa.array(KEYS).slice(6), pa.array(VALUES).slice(6)).num_rows == 0


def test_columns_of_nulls_alone_are_read() -> None:
    nulls = pa.nulls(3, pa.binary())
    assert decode_records(nulls, nulls).column("error").to_pylist() == ["key is null"] * 3
    keys = pa.array([commit_key("g", "t", 0)] * 3, pa.binary())
    assert decode_records(keys, nulls).column("is_tombstone").to_pylist() == [True] * 3


def test_bytes_hidden_behind_a_null_are_never_read() -> None:
    hidden = pa.py_buffer(commit_value(1))
    edges = pa.py_buffer(np.array([0, hidden.size], np.int32))
    value = pa.BinaryArray.from_buffers(pa.binary(), 1, [pa.py_buffer(b"\0"), edges, hidden], null_count=1)
    (row,) = decode_records(pa.array([commit_key("g", "t", 0)], pa.binary()), value).to_pylist()
    assert (row["kind"], row["is_tombstone"], row["committed_offset"]) == ("commit", True, None)


# A cursor over many rows

OCTETS = (0, 1, 2, 3, 0x7F, 0x80, 0x81, 0x82, 0xFF)
SHORT = [bytes(row) for size in range(5) for row in itertools.product(OCTETS, repeat=size)]
LONG = [
    bytes([0x80 | number & 0x7F, number >> 7]) + b"m" * size
    for number in (128, 201)
    for size in (0, 126, 127, 199, 200)
]
ROWS = [*LONG, *SHORT, *LONG, b"\x80\x80\1" + bytes(1 << 15)]


def strings_of(row: bytes, *, compact: bool) -> list[tuple[bytes, int]]:
    """Return the strings that the cursor over one row reads, each with its end; lengths have two bytes at most."""
    cursor, found = Cursor(row, "value"), list[tuple[bytes, int]]()
    while not (compact and cursor.left > 1 and min(row[-cursor.left :][:2]) >= 0x80):
        try:
            text = cursor.nullable_string("metadata", compact=compact)
            if text is None:
                break
            found.append((text, len(row) - cursor.left))
        except DecodeError:
            break
    return found


@pytest.mark.parametrize(("compact", "last"), [(False, b"\x81"), (True, b"\x81"), (True, b"\x81\0")])
def test_strings_of_many_rows_are_those_of_each_row_by_itself(compact: bool, last: bytes) -> None:
    rows = to_byte_rows(pa.array([*ROWS, last], pa.binary()))
    cursor, expected = (
        BulkCursor(rows, np.arange(len(rows))),
        [strings_of(row, compact=compact) for row in [*ROWS, last]],
    )
    for number in range(4):
        spans = Spans.empty(rows)
        cursor.read_string(spans, **({"compact": True} if compact else {}))
        assert cursor.rows.tolist() == [n for n, strings in enumerate(expected) if len(strings) > number]
        for row, position in zip(cursor.rows.tolist(), cursor.position.tolist(), strict=True):
            text = rows.content[spans.start[row] : spans.end[row]].tobytes()
            assert (text, position - rows.start[row]) == expected[row][number]


def test_text_is_null_where_its_bytes_are_and_where_they_are_no_text() -> None:
    octets = pa.array([b"a", None, b"\xff", "ö".encode()], pa.binary())
    text, is_bad = to_text(octets)
    assert (text.to_pylist(), text.type) == (["a", None, None, "ö"], pa.string())
    assert (is_bad.tolist(), is_bad.dtype) == ([False, False, True, False], np.bool_)
    assert with_nulls(octets, is_bad).type == pa.binary()
    assert with_nulls(octets, np.zeros(4, np.bool_)) is octets


@pytest.mark.parametrize("size", [0, 3, 4, 5])
def test_a_window_has_a_place_for_each_stretch_of_its_width(size: int) -> None:
    content = np.arange(size, dtype=np.uint8)
    view = window(content, 4)
    assert [each.tobytes() for each in view] == [content[n : n + 4].tobytes() for n in range(size - 3)]
    assert view.dtype.itemsize == 4
