"""Records of every kind, sound and damaged, in any mixture."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from builders.offset_records import commit_key, commit_value, group_key, member_key, tagged, varint
from generators.hypothesis_strategies import law
from oracles.decode_check import Raw, decode, not_null

Octets = st.SearchStrategy[bytes]
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
# Mostly text, sometimes not; 200 bytes need a varint of two, 20,000 one of three.
octets = st.one_of(text.map(str.encode), st.binary(max_size=6), st.sampled_from([b"m" * 200, b"m" * 20_000]))
int32, int64 = (st.sampled_from([-1, 0, 1]) | st.integers(-(2**bits), 2**bits - 1) for bits in (31, 63))
topic_ids = st.one_of(st.just(bytes(16)), st.binary(min_size=16, max_size=16), st.binary(max_size=20))
tags = st.lists(st.tuples(st.sampled_from([0, 0, 1, 5, 300]), topic_ids), max_size=10)


def commit_values(versions: st.SearchStrategy[int], metadata: Octets, tags: st.SearchStrategy[Any]) -> Octets:
    times = dict.fromkeys(("committed_at_ms", "expires_at_ms"), int64)
    return st.builds(commit_value, int64, version=versions, epoch=int32, metadata=metadata, tags=tags, **times)


commit_keys = st.builds(commit_key, octets, octets, st.integers(-2, 2**31 - 1), st.sampled_from([0, 1]))
commits = st.tuples(commit_keys, st.one_of(st.none(), commit_values(st.integers(-1, 6), octets, tags)))


def classic_value(version: int, members: int) -> bytes:
    """A classic group of as many members, of which each is a byte here: nobody reads them."""
    compact = version >= 4

    def string(content: bytes | None) -> bytes:
        if compact:
            return varint(0) if content is None else varint(len(content) + 1) + content
        return struct.pack(">h", -1) if content is None else struct.pack(">h", len(content)) + content

    head = struct.pack(">h", version) + string(b"consumer") + struct.pack(">i", 4) + string(b"range") + string(None)
    head += struct.pack(">q", -1) if version >= 2 else b""
    return head + (varint(members + 1) if compact else struct.pack(">i", members)) + bytes(members)


def other_key(record_type: int, group: bytes, member: bytes) -> bytes:
    return member_key(group, member, record_type) if record_type in (5, 10, 19) else group_key(group, record_type)


group_values = st.one_of(
    st.none(),
    st.builds(classic_value, st.integers(0, 4), st.integers(0, 3)),
    st.builds(lambda epoch, fields: struct.pack(">hi", 0, epoch) + tagged(fields), int32, tags),
    st.binary(max_size=8),
)
groups = st.tuples(st.builds(other_key, st.integers(-1, 30), octets, octets), group_values)
noise = st.tuples(st.one_of(st.none(), st.binary(max_size=40)), st.one_of(st.none(), st.binary(max_size=60)))


@st.composite
def damaged(draw: st.DrawFn, sound: st.SearchStrategy[Raw]) -> Raw:
    """A record with bytes cut off, put in or replaced, mostly in the length fields."""
    key, value = draw(sound)

    def damage(content: bytes | None) -> bytes | None:
        if content is None or draw(st.booleans()):
            return content
        index = draw(st.integers(0, len(content)))
        rest = content[index + draw(st.integers(0, 3)) :] if draw(st.booleans()) else b""
        return content[:index] + draw(st.sampled_from([b"", b"\0", b"\xff", b"\x80", b"\x7f\xff", b"\xff" * 6])) + rest

    return damage(key), damage(value)


records = st.lists(st.one_of(commits, groups, damaged(commits), damaged(groups), noise), max_size=10)


@law(300)
@given(records)
def test_whatever_its_bytes_are_each_record_has_a_row_and_a_reason_where_it_cannot_be_read(batch: list[Raw]) -> None:
    rows = decode(batch)
    assert [row["is_tombstone"] for row in rows] == [value is None for _, value in batch]
    assert all((row["error"] is None) == (row["kind"] != "malformed") for row in rows)


names = text.map(str.encode) | st.just(b"n" * 200)
ids = st.binary(min_size=16, max_size=16).filter(any)


@law(100)
@given(names, names.filter(len), st.integers(0, 2**31 - 1), st.integers(0, 4), names, int64, ids)
def test_a_sound_commit_is_read_as_it_was_written(
    group: bytes, topic: bytes, partition: int, version: int, metadata: bytes, number: int, topic_id: bytes
) -> None:
    times = dict.fromkeys(("committed_at_ms", "expires_at_ms"), number)
    value = commit_value(number, version=version, epoch=7, metadata=metadata, tags=[(0, topic_id)], **times)
    expected = {"kind": "commit", "is_tombstone": False, "record_type": 1, "partition": partition}
    expected |= {"group_id": group.decode(), "topic": topic.decode(), "metadata": metadata.decode()}
    expected |= {"committed_offset": number, "committed_at_ms": number}
    expected |= {"expires_at_ms": number} if version == 1 and number >= 0 else {}
    expected |= {"leader_epoch": 7} if version >= 3 else {}
    expected |= {"topic_id": str(UUID(bytes=topic_id))} if version == 4 else {}
    assert not_null(decode([(commit_key(group, topic, partition), value)])[0]) == expected


def test_the_members_of_classic_groups_of_every_version_are_counted() -> None:
    batch: list[Raw] = [(group_key("g"), classic_value(version, count)) for version in range(5) for count in (0, 1, 7)]
    rows = decode(batch)
    assert [row["members"] for row in rows] == [0, 1, 7] * 5
    assert {(row["generation"], row["protocol_type"]) for row in rows} == {(4, "consumer")}
