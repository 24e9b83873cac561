"""Bytes of ``__consumer_offsets`` records for tests and benchmarks; written from the format, not from the decoders."""

from __future__ import annotations

import struct
from collections.abc import Sequence

COMMITTED_AT_MS = 1_700_000_000_000


def commit_key(group: str | bytes, topic: str | bytes, partition: int, record_type: int = 1) -> bytes:
    """Return the key of an offset commit (type 0 or 1)."""
    return struct.pack(">h", record_type) + _string(group) + _string(topic) + struct.pack(">i", partition)


def group_key(group: str | bytes, record_type: int = 2) -> bytes:
    """Return the key of a group record (types 2, 3, 17 and others)."""
    return struct.pack(">h", record_type) + _string(group)


def member_key(group: str | bytes, member: str | bytes, record_type: int = 5) -> bytes:
    """Return the key of a member record (types 5, 19 and others)."""
    return group_key(group, record_type) + _string(member)


def commit_value(
    offset: int,
    *,
    version: int = 4,
    epoch: int = -1,
    metadata: str | bytes = b"",
    committed_at_ms: int = COMMITTED_AT_MS,
    expires_at_ms: int = -1,
    tags: Sequence[tuple[int, bytes]] = (),
) -> bytes:
    """Return an offset commit value of *version*; what that version has no room for is left out."""
    head = struct.pack(">hq", version, offset) + (struct.pack(">i", epoch) if version >= 3 else b"")
    times = struct.pack(">q", committed_at_ms) + (struct.pack(">q", expires_at_ms) if version == 1 else b"")
    if version < 4:
        return head + _string(metadata) + times
    octets = _to_bytes(metadata)
    return head + varint(len(octets) + 1) + octets + times + tagged(tags)


def tagged(tags: Sequence[tuple[int, bytes]]) -> bytes:
    """Return tagged fields, as they are: neither sorted nor made unique."""
    return varint(len(tags)) + b"".join(varint(tag) + varint(len(octets)) + octets for tag, octets in tags)


def varint(number: int) -> bytes:
    """Return *number* as an unsigned varint."""
    octets = bytearray()
    while number >= 0x80:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(octets) + bytes([number])


def _string(text: str | bytes) -> bytes:
    octets = _to_bytes(text)
    return struct.pack(">h", len(octets)) + octets


def _to_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
