"""Records of ``__consumer_offsets`` to typed rows, and a group's partition of it, as by Kafka's ``partitionFor``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.decode.offset_records import decode_record

RECORDS = pa.schema(
    [
        ("kind", pa.string()),
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
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""The columns of a decoded batch. Fields that the record's kind does not have are null, and so are absent values.

``key`` and ``value`` only where malformed.
"""


def decode_records(key: pa.Array, value: pa.Array) -> pa.RecordBatch:
    """Decode binary keys and values of equal length into one :data:`RECORDS` row per record, in order.

    Never fails on a record's bytes: a row that cannot be read has kind ``malformed`` and its reason in ``error``.
    Record types without offsets or groups have kind ``ignored``, unknown ones included, because the broker ignores
    those as well. A null value is a tombstone, a null key is malformed.
    """
    return pa.RecordBatch.from_pylist([*map(decode_record, key.to_pylist(), value.to_pylist())], RECORDS)


def coordinator_hashes(groups: Sequence[str]) -> NDArray[np.int64]:
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
