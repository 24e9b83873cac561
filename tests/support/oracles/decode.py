"""One record at a time, as the specification reads: the reference that the vectorised decoder is tested against."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from offset_sync.decode.cursor import Cursor, DecodeError, to_text
from offset_sync.decode.group_values import decode_group_value
from offset_sync.decode.record_layouts import (
    ABSENT,
    COMMIT,
    COMMIT_LAYOUTS,
    IGNORED,
    KIND_OF_TYPE,
    MALFORMED,
    MEMBER_KINDS,
    TOPIC_ID_BYTES,
    TOPIC_ID_TAG,
    VERSIONS_OF_KIND,
    unknown_version,
)


@dataclass(frozen=True)
class Record:
    """One row; the fields are the columns of ``consumer_offsets.RECORDS``, None is null."""

    kind: str
    is_tombstone: bool
    record_type: int | None = None
    group_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    committed_offset: int | None = None
    leader_epoch: int | None = None
    metadata: str | None = None
    topic_id: str | None = None
    committed_at_ms: int | None = None
    expires_at_ms: int | None = None
    generation: int | None = None
    members: int | None = None
    member_id: str | None = None
    protocol_type: str | None = None
    error: str | None = None


def decode_record(key: bytes | None, value: bytes | None) -> Record:
    """Decode one record; never raises. What cannot be read is of kind ``malformed`` and says why in ``error``.

    A malformed value leaves the key's columns filled in; a malformed key leaves at most the record type.
    """
    record = Record(MALFORMED, is_tombstone=value is None)
    try:
        if key is None:
            raise DecodeError("key is null")
        cursor = Cursor(key, "key")
        record_type = cursor.integer(2, "record type")
        kind = KIND_OF_TYPE.get(record_type, IGNORED)
        record = replace(record, record_type=record_type)
        record = _with_key(record, kind, cursor)
        if value is not None:
            record = _with_value(record, kind, record_type, value)
        return replace(record, kind=kind)
    except DecodeError as problem:
        return replace(record, error=str(problem))


def _with_key(record: Record, kind: str, cursor: Cursor) -> Record:
    """Read the rest of the key. Layout first, then meaning, then text: the order in which faults are named."""
    if kind == IGNORED:
        return record
    group = cursor.string("group")
    if kind == COMMIT:
        topic = cursor.string("topic")
        partition = cursor.integer(4, "partition")
        if not topic:
            raise cursor.error("topic is empty")
        if partition < 0:
            raise cursor.error(f"partition {partition} is negative")
        group_id = to_text(group, "key", "group")
        return replace(record, group_id=group_id, topic=to_text(topic, "key", "topic"), partition=partition)
    member = cursor.string("member") if kind in MEMBER_KINDS else None
    group_id = to_text(group, "key", "group")
    return replace(record, group_id=group_id, member_id=None if member is None else to_text(member, "key", "member"))


def _with_value(record: Record, kind: str, record_type: int, value: bytes) -> Record:
    if kind == IGNORED:
        return record
    if kind == COMMIT:
        return _with_commit(record, record_type, value)
    if kind not in VERSIONS_OF_KIND:
        return record
    return replace(record, **vars(decode_group_value(record_type, value)))


def _with_commit(record: Record, record_type: int, value: bytes) -> Record:
    cursor = Cursor(value, "value")
    version = cursor.integer(2, "version")
    if not 0 <= version < len(COMMIT_LAYOUTS):
        raise DecodeError(unknown_version(version, record_type))
    layout = COMMIT_LAYOUTS[version]
    offset = cursor.integer(8, "offset")
    epoch = cursor.integer(4, "leader epoch") if layout.has_epoch else ABSENT
    metadata = cursor.string("metadata", compact=layout.is_flexible)
    committed_at_ms = cursor.integer(8, "commit timestamp")
    expires_at_ms = cursor.integer(8, "expire timestamp") if layout.has_expiry else ABSENT
    topic_id = _topic_id(cursor, value) if layout.is_flexible else None
    return replace(
        record,
        committed_offset=offset,
        leader_epoch=None if epoch < 0 else epoch,
        metadata=to_text(metadata, "value", "metadata"),
        topic_id=topic_id,
        committed_at_ms=committed_at_ms,
        expires_at_ms=None if expires_at_ms < 0 else expires_at_ms,
    )


def _topic_id(cursor: Cursor, value: bytes) -> str | None:
    """Return the tagged topic id; None when absent or zero (zero means unknown)."""
    span = cursor.tags().get(TOPIC_ID_TAG)
    if span is None:
        return None
    octets = value[span]
    if len(octets) != TOPIC_ID_BYTES:
        raise cursor.error(f"topic id has {len(octets)} bytes, not {TOPIC_ID_BYTES}")
    return str(UUID(bytes=octets)) if any(octets) else None
