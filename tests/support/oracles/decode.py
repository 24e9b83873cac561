"""One record at a time, as the specification reads: the reference that the decoder is tested against.

Only the cursor and the names of kinds are the decoder's; layouts are written down here once more, as tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from offset_sync.decode.cursor import Cursor, DecodeError
from offset_sync.decode.offset_records import IGNORED, KIND_OF_TYPE, MALFORMED, unknown_version

Field = tuple[str, str, int]
"""Name, how it is read (text, nullable, bytes, or the width of an integer), and the first version that has it."""

COMMIT_VERSIONS = (
    "offset metadata time",
    "offset metadata time expiry",
    "offset metadata time",
    "offset epoch metadata time",
    "offset epoch metadata time tags",
)
CLASSIC_MEMBER: list[Field] = [
    ("member id", "bytes2", 0),
    ("group instance id", "nullable", 3),
    ("client id", "bytes2", 0),
    ("client host", "bytes2", 0),
    ("rebalance timeout", "4", 1),
    ("session timeout", "4", 0),
    ("subscription", "bytes4", 0),
    ("assignment", "bytes4", 0),
    ("", "tags", 4),
]
MEMBER: list[Field] = [
    ("instance id", "nullable", 0),
    ("rack id", "nullable", 0),
    ("client id", "bytes2", 0),
    ("client host", "bytes2", 0),
    ("topic names", "strings", 0),
    ("topic regex", "nullable", 0),
    ("rebalance timeout", "4", 0),
    ("server assignor", "nullable", 0),
    ("", "tags", 0),
]


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
    generation = cursor.integer(4, "epoch") if kind == "group_epoch" else None
    _read(cursor, [("", "tags", 0)] if kind == "group_epoch" else MEMBER, 0, compact=True)
    return replace(record, generation=generation)


def _with_classic_group(record: Record, cursor: Cursor, version: int) -> Record:
    compact = version == 4
    record = replace(record, protocol_type=cursor.text("protocol type", compact=compact))
    record = replace(record, generation=cursor.integer(4, "generation"))
    _read(
        cursor,
        [("protocol", "nullable", 0), ("leader", "nullable", 0), ("state timestamp", "8", 2)],
        version,
        compact=compact,
    )
    record = replace(record, members=cursor.count("members", compact=compact))
    for _ in range(record.members or 0):
        _read(cursor, CLASSIC_MEMBER, version, compact=compact)
    _read(cursor, [("", "tags", 4)], version, compact=compact)
    return record


def _read(cursor: Cursor, fields: list[Field], version: int, *, compact: bool) -> None:
    """Read over *fields*, of which the oracle says nothing but that they are there."""
    for name, how, since in fields:
        if version < since:
            continue
        if how == "nullable":
            cursor.nullable_string(name, compact=compact)
        elif how == "bytes2":
            cursor.string(name, compact=compact)
        elif how == "bytes4":
            cursor.blob(name, compact=compact)
        elif how == "strings":
            for _ in range(cursor.count(name, compact=compact)):
                cursor.string("topic name", compact=compact)
        elif how == "tags":
            cursor.tags()
        else:
            cursor.integer(int(how), name)


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
