"""One record at a time, as the specification reads: the reference that the decoder is tested against.

Only the cursor and the names of kinds are the decoder's; layouts are written down here once more, as tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from offset_sync.decode.cursor import Cursor, DecodeError
from offset_sync.decode.offset_records import IGNORED, KIND_OF_TYPE, MALFORMED, unknown_version

COMMIT_VERSIONS = (
    "offset metadata time",
    "offset metadata time expiry",
    "offset metadata time",
    "offset epoch metadata time",
    "offset epoch metadata time tags",
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
    if kind == IGNORED:
        return record
    record = replace(record, group_id=cursor.text("group"))
    if kind == "commit":
        record = replace(record, topic=cursor.text("topic"), partition=cursor.integer(4, "partition"))
        if not record.topic:
            raise cursor.error("topic is empty")
        if record.partition is not None and record.partition < 0:
            raise cursor.error(f"partition {record.partition} is negative")
    return replace(record, member_id=cursor.text("member")) if kind.endswith("member") else record


def _with_value(record: Record, kind: str, record_type: int, value: bytes) -> Record:
    if kind not in ("commit", "group", "group_epoch", "member"):
        return record
    cursor = Cursor(value, "value")
    version = cursor.integer(2, "version")
    if not 0 <= version < {"commit": 5, "group": 5}.get(kind, 1):
        raise DecodeError(unknown_version(version, record_type))
    if kind == "commit":
        return _with_commit(record, cursor, version)
    if kind == "group":
        return _with_classic_group(record, cursor, version)
    return replace(record, generation=cursor.integer(4, "epoch")) if kind == "group_epoch" else record


def _with_classic_group(record: Record, cursor: Cursor, version: int) -> Record:
    compact = version == 4
    record = replace(record, protocol_type=cursor.text("protocol type", compact=compact))
    record = replace(record, generation=cursor.integer(4, "generation"))
    for name in ("protocol", "leader"):
        cursor.nullable_string(name, compact=compact)
    if version >= 2:
        cursor.integer(8, "state timestamp")
    return replace(record, members=cursor.count("members", compact=compact))


def _with_commit(record: Record, cursor: Cursor, version: int) -> Record:
    fields = COMMIT_VERSIONS[version].split()
    offset = cursor.integer(8, "offset")
    epoch = cursor.integer(4, "leader epoch") if "epoch" in fields else -1
    metadata = cursor.text("metadata", compact="tags" in fields)
    committed_at_ms = cursor.integer(8, "commit timestamp")
    expires_at_ms = cursor.integer(8, "expire timestamp") if "expiry" in fields else -1
    topic_id = cursor.tags().get(0) if "tags" in fields else None
    if topic_id is not None and len(topic_id) != 16:
        raise cursor.error(f"topic id has {len(topic_id)} bytes, not 16")
    return replace(
        record,
        committed_offset=offset,
        leader_epoch=None if epoch < 0 else epoch,
        metadata=metadata,
        topic_id=str(UUID(bytes=topic_id)) if topic_id and any(topic_id) else None,
        committed_at_ms=committed_at_ms,
        expires_at_ms=None if expires_at_ms < 0 else expires_at_ms,
    )
