"""Values of group and member records, one at a time: such records are rare, commits are not."""

from __future__ import annotations

from dataclasses import dataclass

from offset_sync.decode.cursor import Cursor, DecodeError, to_text
from offset_sync.decode.record_layouts import (
    GROUP,
    GROUP_EPOCH,
    KIND_OF_TYPE,
    MEMBER,
    VERSIONS_OF_KIND,
    unknown_version,
)


@dataclass(frozen=True)
class GroupValue:
    """What a group's or member's value says; None where the record has no such field."""

    generation: int | None = None
    members: int | None = None
    protocol_type: str | None = None


def decode_group_value(record_type: int, value: bytes) -> GroupValue:
    """Decode the value of a record of type 2, 3 or 5; raises DecodeError.

    The whole value is read although little of it is returned, so that one that is cut off is noticed.
    """
    cursor = Cursor(value, "value")
    version = cursor.integer(2, "version")
    kind = KIND_OF_TYPE[record_type]
    if version not in VERSIONS_OF_KIND[kind]:
        raise DecodeError(unknown_version(version, record_type))
    return {GROUP: _classic_group, GROUP_EPOCH: _group_epoch, MEMBER: _member}[kind](cursor, version)


def _classic_group(cursor: Cursor, version: int) -> GroupValue:
    """GroupMetadataValue, versions 0 to 4: a group with members is active, one without is empty."""
    compact = version >= 4
    protocol_type = to_text(cursor.string("protocol type", compact=compact), "value", "protocol type")
    generation = cursor.integer(4, "generation")
    cursor.nullable_string("protocol", compact=compact)
    cursor.nullable_string("leader", compact=compact)
    if version >= 2:
        cursor.integer(8, "state timestamp")
    members = cursor.count("members", compact=compact)
    for _ in range(members):
        _skip_classic_member(cursor, version)
    if compact:
        cursor.tags()
    return GroupValue(generation, members, protocol_type)


def _skip_classic_member(cursor: Cursor, version: int) -> None:
    compact = version >= 4
    cursor.string("member id", compact=compact)
    if version >= 3:
        cursor.nullable_string("group instance id", compact=compact)
    cursor.string("client id", compact=compact)
    cursor.string("client host", compact=compact)
    if version >= 1:
        cursor.integer(4, "rebalance timeout")
    cursor.integer(4, "session timeout")
    cursor.blob("subscription", compact=compact)
    cursor.blob("assignment", compact=compact)
    if compact:
        cursor.tags()


def _group_epoch(cursor: Cursor, version: int) -> GroupValue:
    """ConsumerGroupMetadataValue (KIP-848): the epoch; the metadata hash of 4.1+ is a tagged field and is skipped."""
    generation = cursor.integer(4, "epoch")
    cursor.tags()
    return GroupValue(generation)


def _member(cursor: Cursor, version: int) -> GroupValue:
    """ConsumerGroupMemberMetadataValue (KIP-848): the member lives as long as the record exists."""
    cursor.nullable_string("instance id", compact=True)
    cursor.nullable_string("rack id", compact=True)
    cursor.string("client id", compact=True)
    cursor.string("client host", compact=True)
    for _ in range(cursor.count("topic names", compact=True)):
        cursor.string("topic name", compact=True)
    cursor.nullable_string("topic regex", compact=True)
    cursor.integer(4, "rebalance timeout")
    cursor.nullable_string("server assignor", compact=True)
    cursor.tags()
    return GroupValue()
