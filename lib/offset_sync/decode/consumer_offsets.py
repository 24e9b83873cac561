"""Records of ``__consumer_offsets`` to typed rows, vectorised over Arrow buffers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.decode.arrow_buffers import ByteRows, to_byte_rows
from offset_sync.decode.commit_values import Commits, decode_commits
from offset_sync.decode.cursor import DecodeError
from offset_sync.decode.group_values import GroupValue, decode_group_value
from offset_sync.decode.keys import Keys, decode_keys
from offset_sync.decode.record_layouts import COMMIT, GROUP, GROUP_EPOCH, KINDS, MALFORMED, MEMBER

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

Flags = NDArray[np.bool_]


def decode_records(key: pa.Array | pa.ChunkedArray, value: pa.Array | pa.ChunkedArray) -> pa.RecordBatch:
    """Decode binary keys and values of equal length into one :data:`RECORDS` row per record, in order.

    Never fails on a record's bytes: a row that cannot be read has kind ``malformed`` and its reason in ``error``.
    Record types that say nothing about offsets or live groups have kind ``ignored``, unknown ones included, since
    the broker ignores those as well. A null value is a tombstone, a null key is malformed.
    """
    keys, values = to_byte_rows(key), to_byte_rows(value)
    if len(keys) != len(values):
        raise ValueError(f"{len(keys)} keys but {len(values)} values")
    errors: dict[int, str] = {}
    found = decode_keys(keys, errors)
    wanted = ~values.is_null & ~_flags(len(keys), errors)
    rows = np.flatnonzero(wanted & (found.kind == KINDS.index(COMMIT)))
    commits = decode_commits(values, rows, found.record_type, errors)
    groups = _decode_groups(values, found, wanted, errors)
    malformed = _flags(len(keys), errors)
    has_commit = np.zeros(len(keys), np.bool_)
    has_commit[rows] = True
    columns = {
        "kind": _kinds(found.kind, malformed),
        "is_tombstone": pa.array(values.is_null),
        **_key_columns(found),
        **_commit_columns(commits, has_commit & ~malformed),
        **_group_columns(groups, len(keys)),
        "error": _sparse(errors, len(keys), pa.string()),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in RECORDS.names], schema=RECORDS)


def _decode_groups(values: ByteRows, keys: Keys, wanted: Flags, errors: dict[int, str]) -> dict[int, GroupValue]:
    codes = [KINDS.index(kind) for kind in (GROUP, GROUP_EPOCH, MEMBER)]
    found = {}
    for row in np.flatnonzero(wanted & np.isin(keys.kind, codes)).tolist():
        try:
            found[row] = decode_group_value(int(keys.record_type[row]), values.row(row))
        except DecodeError as problem:
            errors[row] = str(problem)
    return found


def _key_columns(keys: Keys) -> dict[str, pa.Array]:
    return {
        "record_type": pa.array(keys.record_type, mask=~keys.has_type),
        "group_id": keys.group_id,
        "topic": keys.topic,
        "partition": pa.array(keys.partition, mask=keys.topic.is_null().to_numpy(zero_copy_only=False)),
        "member_id": keys.member_id,
    }


def _commit_columns(commits: Commits, present: Flags) -> dict[str, pa.Array]:
    return {
        "committed_offset": pa.array(commits.committed_offset, mask=~present),
        "leader_epoch": pa.array(commits.leader_epoch, mask=~present | (commits.leader_epoch < 0)),
        "metadata": commits.metadata,
        "topic_id": commits.topic_id,
        "committed_at_ms": pa.array(commits.committed_at_ms, mask=~present),
        "expires_at_ms": pa.array(commits.expires_at_ms, mask=~present | (commits.expires_at_ms < 0)),
    }


def _group_columns(groups: dict[int, GroupValue], count: int) -> dict[str, pa.Array]:
    return {
        "generation": _sparse({row: value.generation for row, value in groups.items()}, count, pa.int32()),
        "members": _sparse({row: value.members for row, value in groups.items()}, count, pa.int32()),
        "protocol_type": _sparse({row: value.protocol_type for row, value in groups.items()}, count, pa.string()),
    }


def _kinds(codes: NDArray[np.int8], malformed: Flags) -> pa.DictionaryArray:
    final = np.where(malformed, np.int8(KINDS.index(MALFORMED)), codes)
    return pa.DictionaryArray.from_arrays(pa.array(final, pa.int8()), pa.array(KINDS, pa.string()))


def _sparse(entries: Mapping[int, int | str | None], count: int, kind: pa.DataType) -> pa.Array:
    """Return a column that is null but for a few entries."""
    if not entries:
        return pa.nulls(count, kind)
    index = np.zeros(count, np.int64)
    index[list(entries)] = np.arange(1, len(entries) + 1)
    return pa.array([None, *entries.values()], kind).take(pa.array(index))


def _flags(count: int, rows: dict[int, str]) -> Flags:
    flags = np.zeros(count, np.bool_)
    flags[list(rows)] = True
    return flags
