"""Bytes made to do harm: every length is checked before it is believed, and the message says which one it was."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from builders.offset_records import commit_key, commit_value, group_key, member_key, varint
from oracles.decode_check import decode

KEY = commit_key("g", "t", 0)
V3 = struct.pack(">hqi", 3, 42, -1)
V4 = struct.pack(">hqi", 4, 42, -1)
TIME = struct.pack(">q", 1)
HUGE_COUNT = struct.pack(">i", 2**31 - 1)
CLASSIC = struct.pack(">h", 3) + b"\0\0" + struct.pack(">i", 0) + b"\xff\xff\xff\xff" + TIME


BAD_KEYS = (
    (None, "key is null"),
    (b"", "key: record type needs 2 bytes, 0 left"),
    (b"\0\1", "key: group length needs 2 bytes, 0 left"),
    (b"\0\1\xff\xff" + KEY[4:], "key: group is null"),
    (b"\0\1\x7f\xff" + KEY[4:], "key: group length 32767 exceeds the 8 bytes left"),
    (KEY[:-1], "key: partition needs 4 bytes, 3 left"),
    (commit_key("g", "", 0), "key: topic is empty"),
    (commit_key("g", "t", -1), "key: partition -1 is negative"),
    (commit_key(b"\xc3", "t", 0), "key: group is not valid UTF-8"),
    (commit_key("g", b"\xed\xa0\x80", 0), "key: topic is not valid UTF-8"),
    (member_key("g", b"\xff"), "key: member is not valid UTF-8"),
    (b"\0\5\0\1g\0\2m", "key: member length 2 exceeds the 1 bytes left"),
)
BAD_COMMITS = (
    (b"", "value: version needs 2 bytes, 0 left"),
    (b"\0\7" + bytes(40), "value version 7 is unknown for record type 1"),
    (V3[:9], "value: offset needs 8 bytes, 7 left"),
    (V3[:11], "value: leader epoch needs 4 bytes, 1 left"),
    (V3 + b"\0\0", "value: commit timestamp needs 8 bytes, 0 left"),
    (b"\0\1" + V3[2:10] + b"\0\0" + TIME, "value: expire timestamp needs 8 bytes, 0 left"),
    (V3 + b"\x7f\xff" + bytes(12), "value: metadata length 32767 exceeds the 12 bytes left"),
    (V3 + b"\xff\xff" + TIME, "value: metadata is null"),
    (V3 + b"\x80\0" + TIME, "value: metadata length -32768 is negative"),
    (V4 + b"\0" + TIME + b"\0", "value: metadata is null"),
    (V4 + varint(2**32) + TIME, "value: metadata length varint exceeds 32 bits"),
    (V4 + b"\xff" * 5 + b"\1" + TIME, "value: metadata length varint is longer than 5 bytes"),
    (V4 + b"\xff" * 3, "value: metadata length varint is cut off after 3 bytes"),
    (V4 + b"\x80", "value: metadata length varint is cut off after 1 bytes"),
    (V4 + b"\1" + TIME + varint(2**31 - 1), "value: tag count 2147483647 exceeds the 0 bytes left"),
    (V4 + b"\1" + TIME + b"\x80" * 6, "value: tag count varint is longer than 5 bytes"),
    (V4 + b"\1" + TIME + b"\1\x80", "value: tag varint is cut off after 1 bytes"),
    (V4 + b"\1" + TIME + b"\1\1", "value: tag size varint is cut off after 0 bytes"),
    (V4 + b"\1" + TIME + b"\1\1" + varint(2**31), "value: tagged field length 2147483648 exceeds the 0 bytes left"),
    (commit_value(1, tags=[(0, b"short")]), "value: topic id has 5 bytes, not 16"),
    (commit_value(1, metadata=b"\xc0\x80", tags=[(0, b"i" * 16)]), "value: metadata is not valid UTF-8"),
)
BAD_GROUPS = (
    (group_key("g"), b"\0\5", "value version 5 is unknown for record type 2"),
    (group_key("g", 3), b"\0\1", "value version 1 is unknown for record type 3"),
    (member_key("g", "m"), b"\0\1", "value version 1 is unknown for record type 5"),
    (group_key("g"), CLASSIC[:4], "value: generation needs 4 bytes, 0 left"),
    (group_key("g"), CLASSIC[:8], "value: protocol length needs 2 bytes, 0 left"),
    (group_key("g"), CLASSIC[:10], "value: leader length needs 2 bytes, 0 left"),
    (group_key("g"), CLASSIC[:12], "value: state timestamp needs 8 bytes, 0 left"),
    (group_key("g"), CLASSIC + HUGE_COUNT, "value: members length 2147483647 exceeds the 0 bytes left"),
    (group_key("g"), CLASSIC + struct.pack(">i", -1), "value: members is null"),
    (group_key("g"), CLASSIC + struct.pack(">i", -2), "value: members length -2 is negative"),
    (group_key("g"), b"\0\3\0\1\xff", "value: protocol type is not valid UTF-8"),
    (group_key("g", 3), b"\0\0\0\0", "value: epoch needs 4 bytes, 2 left"),
)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        *((key, commit_value(1), error) for key, error in BAD_KEYS),
        *((KEY, value, error) for value, error in BAD_COMMITS),
        *BAD_GROUPS,
    ],
)
def test_what_cannot_be_read_is_malformed_with_its_reason_and_keeps_its_key(
    key: bytes | None, value: bytes, error: str
) -> None:
    sound, row, deleted = decode([(KEY, commit_value(1, tags=[(0, b"i" * 16)])), (key, value), (KEY, None)])
    assert (row["kind"], row["error"]) == ("malformed", error)
    assert row["group_id"] == (None if error.startswith("key") else "g")
    named = ("committed_offset", "metadata", "topic_id", "committed_at_ms", "generation", "members")
    assert [row[name] for name in named] == [None] * 6
    assert (sound["kind"], sound["error"], deleted["kind"], deleted["error"]) == ("commit", None, "commit", None)


def test_of_a_repeated_tag_the_last_counts_and_unknown_ones_are_skipped_however_many() -> None:
    first, last = bytes(range(16)), bytes(range(16, 32))
    repeated = [(0, b"wrong size"), (7, b"x" * 300), (0, first), (9, b""), (0, last)]
    unknown = [(number, b"") for number in range(1, 1001)]
    rows = decode(
        [(KEY, commit_value(1, tags=tags)) for tags in (repeated, unknown, [*unknown, (0, first)], [(0, bytes(16))])]
    )
    assert [row["topic_id"] for row in rows] == [str(UUID(bytes=last)), None, str(UUID(bytes=first)), None]


def test_zero_is_a_time_like_any_other_and_long_strings_are_read_as_short_ones() -> None:
    assert decode([(KEY, commit_value(1, version=1, expires_at_ms=0))])[0]["expires_at_ms"] == 0
    sizes = [0, 127, 16_382, 16_383, 20_000]
    rows = decode([(KEY, commit_value(1, metadata=b"m" * size)) for size in sizes])
    assert [len(row["metadata"]) for row in rows] == sizes
