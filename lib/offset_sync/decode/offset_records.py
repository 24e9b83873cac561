"""One record of ``__consumer_offsets``: record types, kinds, layouts, and a decoder that says what is wrong.

Source: schema files of Kafka's group coordinator, 4.3.0 and 4.4.0, and ``CoordinatorRecordSerde``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from uuid import UUID

from offset_sync.decode.cursor import Cursor, DecodeError

COMMIT = "commit"
GROUP = "group"
GROUP_EPOCH = "group_epoch"
MEMBER = "member"
IGNORED = "ignored"
MALFORMED = "malformed"

COMMIT_TYPES = (0, 1)
# Type 9 and 18 existed in some releases only; every type that is not listed here is ignored, as the broker does.
KIND_OF_TYPE = {
    **dict.fromkeys(COMMIT_TYPES, COMMIT),
    2: GROUP,
    3: GROUP_EPOCH,  # 3 and 5: KIP-848
    5: MEMBER,
}
"""The record types that are decoded."""
COMMIT_VERSIONS = range(5)
"""Versions of a commit's value; the order is always offset, epoch, metadata, times, tags."""
UNKNOWN_VERSION = " is unknown for record type"
"""Part of the error for an unknown value version of a known record type."""

TOPIC_ID_TAG = 0
UUID_BYTES = 16
_INT16, _INT32, _INT64 = 2, 4, 8

Row = dict[str, Any]


def decode_record(key: bytes | None, value: bytes | None) -> Row:
    """Return the columns of one record, by name, without those that are null; never raises.

    A record that cannot be read is ``malformed``, has its bytes, and says why in ``error``. With a malformed value the
    columns of the key are there, with a malformed key at most the record type.
    """
    row: Row = {**_decode_key(key), "is_tombstone": value is None}
    if value is not None and row["kind"] in _VALUES:
        try:
            row |= _value_columns(value, row["kind"], row["record_type"])
        except DecodeError as problem:
            row |= {"kind": MALFORMED, "error": str(problem)}
    return row | {"key": key, "value": value} if row["kind"] == MALFORMED else row


@functools.lru_cache(maxsize=1 << 14)
def _decode_key(key: bytes | None) -> Row:
    """Read a key; most keys of the log come again. Keys are never flexible, whatever the value's version is."""
    row: Row = {"kind": MALFORMED}
    try:
        if key is None:
            raise DecodeError("key is null")
        cursor = Cursor(key, "key")
        record_type = row["record_type"] = cursor.integer(_INT16, "record type")
        return row | _key_columns(cursor, KIND_OF_TYPE.get(record_type, IGNORED))
    except DecodeError as problem:
        return row | {"error": str(problem)}


def _key_columns(cursor: Cursor, kind: str) -> Row:
    row: Row = {"kind": kind}
    if kind == IGNORED:
        return row
    row["group_id"] = cursor.text("group")
    if kind == MEMBER:
        row["member_id"] = cursor.text("member")
    if kind == COMMIT:
        row |= {"topic": cursor.text("topic"), "partition": cursor.integer(_INT32, "partition")}
        # No broker writes these two; in one of our requests they would fail all partitions of the group.
        if not row["topic"]:
            raise cursor.error("topic is empty")
        if row["partition"] < 0:
            raise cursor.error(f"partition {row['partition']} is negative")
    return row


def _value_columns(value: bytes, kind: str, record_type: int) -> Row:
    """Read a commit's whole value; of the others no more than is returned."""
    cursor = Cursor(value, "value")
    version = cursor.integer(_INT16, "version")
    versions, read = _VALUES[kind]
    if version not in versions:
        raise DecodeError(f"value version {version}{UNKNOWN_VERSION} {record_type}")
    return read(cursor, version)


def _commit(cursor: Cursor, version: int) -> Row:
    row: Row = {"committed_offset": cursor.integer(_INT64, "offset")}
    if version >= 3 and (epoch := cursor.integer(_INT32, "leader epoch")) >= 0:
        row["leader_epoch"] = epoch
    row["metadata"] = cursor.text("metadata", compact=version >= 4)
    row["committed_at_ms"] = cursor.integer(_INT64, "commit timestamp")
    if version == 1 and (expires_at_ms := cursor.integer(_INT64, "expire timestamp")) >= 0:
        row["expires_at_ms"] = expires_at_ms
    if version >= 4 and (topic_id := cursor.tags().get(TOPIC_ID_TAG)) is not None:
        if len(topic_id) != UUID_BYTES:
            raise cursor.error(f"topic id has {len(topic_id)} bytes, not {UUID_BYTES}")
        row["topic_id"] = _to_uuid_text(topic_id)
    return row


@functools.lru_cache(maxsize=1 << 14)
def _to_uuid_text(octets: bytes) -> str | None:
    """Return a UUID of 16 bytes as 36 characters; zero is an unknown one."""
    return str(UUID(bytes=octets)) if any(octets) else None


def _classic_group(cursor: Cursor, version: int) -> Row:
    """GroupMetadataValue, versions 0 to 4: a group with members is active, one without is empty."""
    compact = version >= 4
    protocol_type = cursor.text("protocol type", compact=compact)
    generation = cursor.integer(_INT32, "generation")
    cursor.nullable_string("protocol", compact=compact)
    cursor.nullable_string("leader", compact=compact)
    if version >= 2:
        cursor.integer(_INT64, "state timestamp")
    return {
        "generation": generation,
        "members": cursor.count("members", compact=compact),
        "protocol_type": protocol_type,
    }


def _group_epoch(cursor: Cursor, _version: int) -> Row:
    """ConsumerGroupMetadataValue (KIP-848)."""
    return {"generation": cursor.integer(_INT32, "epoch")}


def _member(_cursor: Cursor, _version: int) -> Row:
    """ConsumerGroupMemberMetadataValue (KIP-848): the member exists as long as the record does."""
    return {}


_VALUES: dict[str, tuple[range, Callable[[Cursor, int], Row]]] = {
    COMMIT: (COMMIT_VERSIONS, _commit),
    GROUP: (range(5), _classic_group),
    GROUP_EPOCH: (range(1), _group_epoch),
    MEMBER: (range(1), _member),
}
"""The value versions that are known, and their decoder, per kind."""
