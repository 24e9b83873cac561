"""Keys of ``__consumer_offsets``, all rows at once. Keys are never flexible, whatever the value's version is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.decode.arrow_buffers import ByteRows, Spans, gather, to_text, with_nulls
from offset_sync.decode.record_layouts import COMMIT, IGNORED, KIND_OF_TYPE, KINDS, MEMBER_KINDS
from offset_sync.decode.vector_cursor import VectorCursor

_TYPES = max(KIND_OF_TYPE) + 1
_IGNORED_CODE = KINDS.index(IGNORED)
_HAS_MEMBER = np.array([kind in MEMBER_KINDS for kind in KINDS], np.bool_)
_CODE_OF_TYPE = np.array([KINDS.index(KIND_OF_TYPE.get(number, IGNORED)) for number in range(_TYPES)], np.int8)


@dataclass(frozen=True)
class Keys:
    """One element per row. Rows with an error hold nulls, except for the record type where that could be read.

    *kind* is an index into ``record_layouts.KINDS``, never that of ``malformed``; *has_type* is False where the key
    is too short even for the record type.
    """

    kind: NDArray[np.int8]
    record_type: NDArray[np.int16]
    has_type: NDArray[np.bool_]
    group_id: pa.StringArray
    topic: pa.StringArray
    partition: NDArray[np.int32]
    member_id: pa.StringArray


def decode_keys(keys: ByteRows, errors: dict[int, str]) -> Keys:
    """Decode every key; the rows that cannot be read get a message in *errors*."""
    for row in np.flatnonzero(keys.is_null):
        errors[int(row)] = "key is null"
    count = len(keys)
    record_type, partition = np.zeros(count, np.int16), np.zeros(count, np.int32)
    has_type = np.zeros(count, np.bool_)
    cursor = VectorCursor(keys, np.flatnonzero(~keys.is_null), "key", errors)
    cursor.read(record_type, "record type")
    has_type[cursor.rows] = True
    kind = _kind_codes(record_type)
    group, topic, member = Spans.empty(keys), Spans.empty(keys), Spans.empty(keys)
    _read_commit_keys(cursor.select(kind[cursor.rows] == KINDS.index(COMMIT)), group, topic, partition)
    is_commit = kind == KINDS.index(COMMIT)
    others = cursor.select(~is_commit[cursor.rows] & (kind[cursor.rows] != _IGNORED_CODE))
    others.read_string(group, "group")
    is_member: NDArray[np.bool_] = _HAS_MEMBER[kind]
    others.select(is_member[others.rows]).read_string(member, "member")
    has_group = kind != _IGNORED_CODE
    texts = [
        _text(keys, group, has_group, "group", errors),
        _text(keys, topic, has_group & is_commit, "topic", errors),
        _text(keys, member, has_group & is_member, "member", errors),
    ]
    # Rows that failed may have been read in part; part of a key must not be taken for a key.
    unreadable = np.zeros(count, np.bool_)
    unreadable[list(errors)] = True
    group_id, topic_text, member_id = (with_nulls(text, unreadable) for text in texts)
    return Keys(kind, record_type, has_type, group_id, topic_text, partition, member_id)


def _read_commit_keys(cursor: VectorCursor, group: Spans, topic: Spans, partition: NDArray[np.int32]) -> None:
    cursor.read_string(group, "group")
    cursor.read_string(topic, "topic")
    cursor.read(partition, "partition")
    # No broker writes these two; in one of our requests they would fail all partitions of the group.
    cursor.drop((topic.end == topic.start)[cursor.rows], lambda _: "topic is empty")
    numbers = partition[cursor.rows]
    cursor.drop(numbers < 0, lambda i: f"partition {numbers[i]} is negative")


def _kind_codes(record_type: NDArray[np.int16]) -> NDArray[np.int8]:
    is_listed = (record_type >= 0) & (record_type < _TYPES)
    return np.where(is_listed, _CODE_OF_TYPE[np.where(is_listed, record_type, 0)], np.int8(_IGNORED_CODE))


def _text(
    keys: ByteRows, spans: Spans, present: NDArray[np.bool_], field: str, errors: dict[int, str]
) -> pa.StringArray:
    if not present.any():
        return pa.nulls(len(keys), pa.string())
    text, bad = to_text(gather(keys, spans, ~present))
    for row in np.flatnonzero(bad):
        errors.setdefault(int(row), f"key: {field} is not valid UTF-8")
    return text
