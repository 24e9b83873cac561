"""Records of ``__consumer_offsets`` to typed rows: sound commits many at a time, all other records one by one.

Also a group's partition of it, computed as by Kafka's ``partitionFor``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.decode.byte_rows import (
    BulkCursor,
    ByteRows,
    Flags,
    Ints,
    Rows,
    Spans,
    gather,
    to_byte_rows,
    to_text,
    window,
    with_nulls,
)
from offset_sync.decode.offset_records import (
    COMMIT,
    COMMIT_LAYOUTS,
    KIND_OF_TYPE,
    KINDS,
    TOPIC_ID_TAG,
    UUID_BYTES,
    decode_record,
    to_uuid_text,
)

RECORDS = pa.schema(
    [
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("is_tombstone", pa.bool_()),
        ("record_type", pa.int16()),
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("committed_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("metadata", pa.string()),
        ("topic_id", pa.string()),
        ("committed_at_ms", pa.int64()),
        ("expires_at_ms", pa.int64()),
        ("generation", pa.int32()),
        ("members", pa.int32()),
        ("member_id", pa.string()),
        ("protocol_type", pa.string()),
        ("error", pa.string()),
    ]
)
"""The columns of a decoded batch. Fields that the record's kind does not have are null, and so are absent values."""

Columns = dict[str, pa.Array]

COMMIT_TYPES = [record_type for record_type, kind in KIND_OF_TYPE.items() if kind == COMMIT]
_TOPIC_ID = TOPIC_ID_TAG << 8 | UUID_BYTES
"""The tag and the size before a topic id, read as one int16."""


def decode_records(key: pa.Array | pa.ChunkedArray, value: pa.Array | pa.ChunkedArray) -> pa.RecordBatch:
    """Decode binary keys and values of equal length into one :data:`RECORDS` row per record, in order.

    Never fails on a record's bytes: a row that cannot be read has kind ``malformed`` and its reason in ``error``.
    Record types without offsets or groups have kind ``ignored``, unknown ones included, because the broker ignores
    those as well. A null value is a tombstone, a null key is malformed.
    """
    keys, values = to_byte_rows(key), to_byte_rows(value)
    columns, is_read = _decode_commits(keys, values)
    rest = [decode_record(keys.row(row), values.row(row)) for row in np.flatnonzero(~is_read).tolist()]
    final = [_with_rest(columns, field, rest, ~is_read) for field in RECORDS]
    return pa.RecordBatch.from_arrays(final, schema=RECORDS)


def _with_rest(columns: Columns, field: pa.Field, rest: list[dict[str, Any]], is_rest: Flags) -> pa.Array:
    """Return the column of a *field*: that of the commits with the values of the *rest* put in."""
    if field.name == "kind":
        codes = np.full(len(is_rest), KINDS.index(COMMIT), np.int8)
        codes[is_rest] = [KINDS.index(row["kind"]) for row in rest]
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(KINDS, pa.string()))
    column = columns[field.name] if field.name in columns else pa.nulls(len(is_rest), field.type)
    values, mask = pa.array([row.get(field.name) for row in rest], field.type), pa.array(is_rest)
    if values.null_count == len(rest) == column.filter(mask).null_count:
        return column  # so most columns need no copy
    return pc.replace_with_mask(column, mask, values)


def _decode_commits(keys: ByteRows, values: ByteRows) -> tuple[Columns, Flags]:
    """Return the columns of sound commits and their tombstones, and which rows these are; the others are undefined."""
    count = len(keys)
    record_type, partition = np.zeros(count, np.int16), np.zeros(count, np.int32)
    group, topic = Spans.empty(keys), Spans.empty(keys)
    cursor = BulkCursor(keys, np.flatnonzero(~keys.is_null))
    cursor.read(record_type)
    cursor.keep(np.isin(record_type[cursor.rows], COMMIT_TYPES))
    cursor.read_string(group)
    cursor.read_string(topic)
    cursor.read(partition)
    cursor.keep((topic.start < topic.end)[cursor.rows] & (partition[cursor.rows] >= 0))
    columns, is_read = _decode_values(values, cursor.rows)
    for name, spans in (("group_id", group), ("topic", topic)):
        columns[name], is_bad = to_text(gather(keys, spans, ~is_read))
        is_read &= ~is_bad
    columns["record_type"], columns["partition"] = pa.array(record_type), pa.array(partition)
    return columns | {"is_tombstone": pa.array(values.is_null)}, is_read


def _decode_values(values: ByteRows, rows: Rows) -> tuple[Columns, Flags]:
    """Return the columns of the commit values of *rows* (ascending), and which were decoded; nulls count as decoded."""
    count = len(values)
    offset, committed_at = np.zeros(count, np.int64), np.zeros(count, np.int64)
    epoch, expires_at = np.full(count, -1, np.int32), np.full(count, -1, np.int64)
    metadata, id_at = Spans.empty(values), np.full(count, -1, np.int64)
    version, has_value = np.zeros(count, np.int16), np.zeros(count, np.bool_)
    every = BulkCursor(values, rows[~values.is_null[rows]])
    every.read(version)
    for number, layout in enumerate(COMMIT_LAYOUTS):
        cursor = every.select(version[every.rows] == number)
        if not len(cursor.rows):
            continue
        cursor.read(offset)
        if layout.has_epoch:
            cursor.read(epoch)
        cursor.read_string(metadata, compact=layout.is_flexible)
        cursor.read(committed_at)
        if layout.has_expiry:
            cursor.read(expires_at)
        if layout.is_flexible:
            _read_topic_id(cursor, id_at)
        has_value[cursor.rows] = True
    text, is_bad = to_text(gather(values, metadata, ~has_value))
    has_value &= ~is_bad
    columns = {
        "committed_offset": pa.array(offset, mask=~has_value),
        "leader_epoch": pa.array(epoch, mask=~has_value | (epoch < 0)),
        "metadata": text,
        "topic_id": _topic_ids(values, id_at),
        "committed_at_ms": pa.array(committed_at, mask=~has_value),
        "expires_at_ms": pa.array(expires_at, mask=~has_value | (expires_at < 0)),
    }
    is_read = has_value.copy()
    is_read[rows[values.is_null[rows]]] = True
    return columns, is_read


def _read_topic_id(cursor: BulkCursor, id_at: Ints) -> None:
    """Note where the topic id begins, in rows with that tagged field; rows with any other one are dropped."""
    fields, tag_and_size = np.zeros(len(id_at), np.int8), np.zeros(len(id_at), np.int16)
    cursor.read(fields)
    tagged = cursor.select(fields[cursor.rows] == 1)
    tagged.read(tag_and_size)
    tagged.keep(tag_and_size[tagged.rows] == _TOPIC_ID)
    tagged.skip(UUID_BYTES)
    id_at[tagged.rows] = tagged.position - UUID_BYTES
    cursor.keep((fields[cursor.rows] == 0) | (id_at[cursor.rows] >= 0))


def _topic_ids(values: ByteRows, position: Ints) -> pa.StringArray:
    """Return the topic id at *position* of each row as text; null where that is -1, or the id zero.

    Positions count from the beginning of the column's bytes. Topic ids are few: only distinct ones are formatted.
    """
    present = position >= 0
    if not present.any():
        return pa.nulls(len(position), pa.string())
    octets = window(values.content, UUID_BYTES)[np.where(present, position, 0)]
    binary = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(UUID_BYTES), len(position), [None, pa.py_buffer(octets.view(np.uint8))]
    )
    encoded = with_nulls(binary, ~present).dictionary_encode()
    return pa.array(map(to_uuid_text, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)


def coordinator_hashes(groups: Sequence[str]) -> Ints:
    """Return the hash of each group, shape (groups,): modulo the partition count it is the group's partition.

    The absolute value of Java's ``String.hashCode`` over UTF-16 units; 0 for the smallest int32 (``Utils.abs``).

    >>> coordinator_hashes(["", "a", "billing"]).tolist()
    [0, 97, 109829509]
    """
    raw = [group.encode("utf-16-le", "surrogatepass") for group in groups]
    length = np.array([len(each) // 2 for each in raw], np.int64)
    units: NDArray[np.uint16] = np.frombuffer(b"".join(raw), "<u2")
    first = np.cumsum(length) - length
    code = np.zeros(len(groups), np.uint32)
    for number in range(int(length.max(initial=0))):
        rows = np.flatnonzero(length > number)
        code[rows] = code[rows] * np.uint32(31) + units[first[rows] + number]
    signed = code.view(np.int32).astype(np.int64)
    return np.where(signed == -(1 << 31), 0, np.abs(signed))


def coordinator_partition(group_id: str, partitions: int) -> int:
    """Return a group's partition of ``__consumer_offsets``, which has *partitions* of them, at least one."""
    return int(coordinator_hashes([group_id])[0]) % partitions
