"""Bytes made to do harm: every length is checked before it is believed, and the message says which one it was."""

from __future__ import annotations

import struct

import pytest

from builders.offset_records import commit_key, commit_value, group_key, member_key, varint
from oracles.decode_check import decode

KEY = commit_key("g", "t", 0)
V3 = struct.pack(">hqi", 3, 42, -1)
V4 = struct.pack(">hqi", 4, 42, -1)
TIME = struct.pack(">q", 1)
HUGE_COUNT = struct.pack(">i", 2**31 - 1)
CLASSIC = struct.pack(">h", 3) + b"\0\0" + struct.pack(">i", 0) + b"\xff\xff\xff\xff" + TIME


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (None, "key is null"),
        (b"", "key: record type needs 2 bytes, 0 left"),
        (b"\0", "key: record type needs 2 bytes, 1 left"),
        (b"\0\1", "key: group length needs 2 bytes, 0 left"),
        (b"\0\1\xff\xff" + KEY[4:], "key: group is null"),
        (b"\0\1\xff\xfe" + KEY[4:], "key: group length -2 is negative"),
        (b"\0\1\x7f\xff" + KEY[4:], "key: group length 32767 exceeds the 8 bytes left"),
        (KEY[:5] + b"\x80\0" + KEY[7:], "key: topic length -32768 is negative"),
        (KEY[:-1], "key: partition needs 4 bytes, 3 left"),
        (commit_key("g", "", 0), "key: topic is empty"),
        (commit_key("g", "t", -1), "key: partition -1 is negative"),
        (commit_key(b"\xc3", "t", 0), "key: group is not valid UTF-8"),
        (commit_key("g", b"\xed\xa0\x80", 0), "key: topic is not valid UTF-8"),
        (member_key("g", b"\xff"), "key: member is not valid UTF-8"),
        (b"\0\5\0\1g\0\2m", "key: member length 2 exceeds the 1 bytes left"),
    ],
)
def test_a_bad_key_is_malformed_with_its_reason(key: bytes | None, error: str) -> None:
    row, sound = decode([(key, commit_value(1)), (KEY, commit_value(1))])
    assert (row["kind"], row["error"]) == ("malformed", error)
    assert (row["group_id"], row["topic"], row["partition"], row["committed_offset"]) == (None, None, None, None)
    assert (sound["kind"], sound["committed_offset"]) == ("commit", 1)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (b"", "value: version needs 2 bytes, 0 left"),
        (b"\0", "value: version needs 2 bytes, 1 left"),
        (b"\0\7" + bytes(40), "value version 7 is unknown for record type 1"),
        (b"\xff\xff" + bytes(40), "value version -1 is unknown for record type 1"),
        (V3[:9], "value: offset needs 8 bytes, 7 left"),
        (V3[:11], "value: leader epoch needs 4 bytes, 1 left"),
        (V3 + b"\x7f\xff" + bytes(12), "value: metadata length 32767 exceeds the 12 bytes left"),
        (V3 + b"\xff\xff" + TIME, "value: metadata is null"),
        (V3 + b"\x80\0" + TIME, "value: metadata length -32768 is negative"),
        (V4 + b"\0" + TIME + b"\0", "value: metadata is null"),
        (V4 + varint(2**31) + TIME, "value: metadata length 2147483647 exceeds the 8 bytes left"),
        (V4 + varint(2**32 - 1) + TIME, "value: metadata length 4294967294 exceeds the 8 bytes left"),
        (V4 + varint(2**32) + TIME, "value: metadata length varint exceeds 32 bits"),
        (V4 + b"\xff" * 5 + b"\1" + TIME, "value: metadata length varint is longer than 5 bytes"),
        (V4 + b"\xff" * 3, "value: metadata length varint is cut off after 3 bytes"),
        (V4 + b"\1" + TIME + varint(2**31 - 1), "value: tag count 2147483647 exceeds the 0 bytes left"),
        (V4 + b"\1" + TIME + b"\x80" * 6, "value: tag count varint is longer than 5 bytes"),
        (V4 + b"\1" + TIME + b"\1\x80", "value: tag varint is cut off after 1 bytes"),
        (V4 + b"\1" + TIME + b"\1\1", "value: tag size varint is cut off after 0 bytes"),
        (V4 + b"\1" + TIME + b"\1\1" + varint(2**31), "value: tagged field length 2147483648 exceeds the 0 bytes left"),
        (commit_value(1, tags=[(0, b"short")]), "value: topic id has 5 bytes, not 16"),
        (commit_value(1, metadata=b"\xc0\x80", tags=[(0, b"i" * 16)]), "value: metadata is not valid UTF-8"),
        (commit_value(1, version=3, metadata=b"\xf4\x90\x80\x80"), "value: metadata is not valid UTF-8"),
    ],
)
def test_a_bad_commit_is_malformed_with_its_reason_and_keeps_its_key(value: bytes, error: str) -> None:
    sound, row, deleted = decode([(KEY, commit_value(1, tags=[(0, b"i" * 16)])), (KEY, value), (KEY, None)])
    assert (row["kind"], row["error"]) == ("malformed", error)
    assert (row["group_id"], row["topic"], row["partition"], row["committed_offset"]) == ("g", "t", 0, None)
    assert (row["metadata"], row["topic_id"], row["committed_at_ms"]) == (None, None, None)
    assert (sound["kind"], sound["error"], deleted["kind"], deleted["error"]) == ("commit", None, "commit", None)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        (group_key("g"), b"\0\5", "value version 5 is unknown for record type 2"),
        (group_key("g", 3), b"\0\1", "value version 1 is unknown for record type 3"),
        (member_key("g", "m"), b"\0\1", "value version 1 is unknown for record type 5"),
        (group_key("g"), CLASSIC + HUGE_COUNT, "value: members length 2147483647 exceeds the 0 bytes left"),
        (group_key("g"), CLASSIC + struct.pack(">i", -1), "value: members is null"),
        (group_key("g"), CLASSIC + struct.pack(">i", -2), "value: members length -2 is negative"),
        (group_key("g"), b"\0\3\0\1\xff", "value: protocol type is not valid UTF-8"),
        (group_key("g", 3), b"\0\0\0\0", "value: epoch needs 4 bytes, 2 left"),
    ],
)
def test_a_bad_group_record_is_malformed_with_its_reason(key: bytes, value: bytes, error: str) -> None:
    (row,) = decode([(key, value)])
    assert (row["kind"], row["error"], row["generation"]) == ("malformed", error, None)


def test_types_that_no_broker_has_yet_are_ignored_whatever_follows() -> None:
    records = [(b"\0\x63", b"\xff\xff"), (b"\x7f\xff\xff\xff", None), (b"\xff\xff", b""), (b"\0\4\0\1g", b"\0\0")]
    rows = decode(records)
    assert [(row["kind"], row["record_type"]) for row in rows] == [("ignored", number) for number in (99, 32767, -1, 4)]
    assert {row["group_id"] for row in rows} == {None}


def test_lengths_spelled_with_needless_varint_bytes_are_read_as_kafka_reads_them() -> None:
    rows = decode([(KEY, V4 + b"\x82\x80\x80\x80\0" + b"m" + TIME + b"\x80\0")])
    assert (rows[0]["kind"], rows[0]["metadata"]) == ("commit", "m")


def test_of_a_repeated_tag_the_last_counts_and_unknown_ones_are_skipped_however_many() -> None:
    first, last = bytes(range(16)), bytes(range(16, 32))
    repeated = commit_value(1, epoch=0, tags=[(0, b"wrong size"), (7, b"x" * 300), (0, first), (9, b""), (0, last)])
    unknown = [(number, b"") for number in range(1, 1001)]
    crowded = [commit_value(1, tags=unknown), commit_value(1, tags=[*unknown, (0, first)])]
    rows = decode(
        [
            (KEY, each)
            for each in (repeated, *crowded, *(commit_value(1, tags=[(0, each)]) for each in (first, bytes(16))))
        ]
    )
    assert [row["topic_id"] for row in rows] == [
        "10111213-1415-1617-1819-1a1b1c1d1e1f",
        None,
        "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "00010203-0405-0607-0809-0a0b0c0d0e0f",
        None,
    ]
