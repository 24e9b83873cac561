"""Arrow columns of every shape: slices, nulls, chunks, other layouts, nothing at all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from builders.offset_records import commit_key, commit_value, group_key
from offset_sync.decode.consumer_offsets import decode_records
from oracles.decode_check import Raw, alone

BATCH: list[Raw] = [
    (commit_key("first", "orders", 0), commit_value(1, metadata="one")),
    (commit_key("second", "orders", 1), None),
    (None, commit_value(3)),
    (commit_key("fourth", "pay", 2), commit_value(4, version=1, expires_at_ms=9)),
    (group_key("fifth"), None),
    (commit_key("sixth", "pay", 3), commit_value(6, version=3, epoch=2, tags=[(0, b"i" * 16)])),
]
KEYS, VALUES = [key for key, _ in BATCH], [value for _, value in BATCH]
EXPECTED = [alone(record) for record in BATCH]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_every_binary_layout_is_read(kind: pa.DataType) -> None:
    assert decode_records(pa.array(KEYS, kind), pa.array(VALUES, kind)).to_pylist() == EXPECTED


def test_chunks_are_one_column_and_need_not_match() -> None:
    keys = pa.chunked_array([KEYS[:1], KEYS[1:4], [], KEYS[4:]], pa.binary())
    values = pa.chunked_array([VALUES[:3], VALUES[3:]], pa.binary())
    assert decode_records(keys, values).to_pylist() == EXPECTED
    no_chunks = pa.chunked_array([], pa.binary())
    assert decode_records(no_chunks, no_chunks).num_rows == 0


def test_bytes_hidden_behind_a_null_are_never_read() -> None:
    hidden = pa.py_buffer(commit_value(1))
    edges = pa.py_buffer(np.array([0, hidden.size], np.int32))
    value = pa.BinaryArray.from_buffers(pa.binary(), 1, [pa.py_buffer(b"\0"), edges, hidden], null_count=1)
    (row,) = decode_records(pa.array([commit_key("g", "t", 0)], pa.binary()), value).to_pylist()
    assert (row["kind"], row["is_tombstone"], row["committed_offset"]) == ("commit", True, None)
