"""Records stamped as Redpanda Migrator and Lenses K2K stamp them, byte for byte, and what must not pass for that."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.config import Mirror
from offset_sync.decode.mirror_headers import Encoding
from offset_sync.decode.place_header import NO_PLACE, read_split_places
from offset_sync.decode.stamps import decode_stamps, places_of
from offset_sync.model.values import TopicPartition

ORDERS = TopicPartition("orders", 3)
SOURCE_ID, OWN_ID = "Qm9va1N0b3JlLUthZmthMQ", "redpanda.8ea48d4b-1f0c-4b5e-a0f4-6e2c1ab5f3d2"
REDPANDA = Mirror(preset="redpanda-migrator")
LENSES = Mirror(preset="lenses-k2k", pipelines={"dc1-to-dc2": "dc1"})
LENSES_INT64 = Mirror(preset="lenses-k2k", pipelines={"dc1-to-dc2": "dc1"}, offset_encoding="int64")
Headers = dict[str, bytes]
Answer = tuple[str, int] | str | None


def read(mirror: Mirror, known: set[str], *records: Headers) -> list[Answer]:
    """Return (origin, offset), the reason why it is malformed, or None for a native one, of records of orders-3."""
    columns = {
        column: pa.array([record.get(name) for record in records], pa.binary())
        for column, name in mirror.header_columns().items()
    }
    found = decode_stamps(columns, mirror.offset_encoding, ORDERS, np.zeros(len(records), np.int64), known)
    assert sorted(found.reasons) == np.flatnonzero(found.is_malformed).tolist()
    assert set(found.origin_offset[~found.is_mirrored].tolist()) <= {0}
    return [
        (found.origins[found.origin_code[row]], int(found.origin_offset[row]))
        if found.is_mirrored[row]
        else found.reasons.get(row)
        for row in range(len(records))
    ]


# Redpanda Migrator: migrator.go writes []byte(metadata.Cluster) and binary.BigEndian.AppendUint64(nil, offset)


def of_redpanda(origin: str, offset: bytes) -> Headers:
    return {"trace": b"1", "redpanda-migrator-provenance": origin.encode(), "redpanda-migrator-offset": offset}


def test_what_redpanda_migrator_stamps_is_read() -> None:
    high = bytes.fromhex("0000000001020304")
    assert read(
        REDPANDA,
        {SOURCE_ID},
        of_redpanda(SOURCE_ID, b"\0" * 8),
        of_redpanda(SOURCE_ID, high),
        {},
        {"redpanda-migrator-provenance": SOURCE_ID.encode()},  # with consumer_groups.enabled: false
        {"redpanda-migrator-offset": high},  # with provenance_header: ""
    ) == [(SOURCE_ID, 0), (SOURCE_ID, 0x01020304), None, None, None]


def test_the_offset_of_another_hop_is_no_identity() -> None:
    """The provenance is of the first cluster and the offset of the last: of a third one they do not belong together."""
    reason = "origin header 'third' is of no cluster that is mirrored to this one"
    own = f"origin header {OWN_ID!r} is of no cluster that is mirrored to this one"
    offset = struct.pack(">Q", 7)
    found = read(REDPANDA, {SOURCE_ID}, *(of_redpanda(each, offset) for each in ("third", SOURCE_ID, OWN_ID)))
    assert found == [reason, (SOURCE_ID, 7), own]


@pytest.mark.parametrize(
    ("offset", "reason"),
    [
        (b"7", "offset header has 1 bytes, not 8"),
        (b"12345678", "offset header is text, eight digits"),
        (struct.pack(">q", -1), "offset header -1 is negative"),
        (b"", "offset header has 0 bytes, not 8"),
    ],
)
def test_what_redpanda_migrator_never_writes_is_malformed(offset: bytes, reason: str) -> None:
    assert read(REDPANDA, {SOURCE_ID}, of_redpanda(SOURCE_ID, offset)) == [reason]


def test_redpandas_own_headers_may_be_given_a_place() -> None:
    """``headers: {Place: '${! @kafka_topic }-${! @kafka_partition }'}`` of the output."""
    mirror = Mirror(preset="redpanda-migrator", place_header="Place")
    stamped = of_redpanda(SOURCE_ID, struct.pack(">Q", 7))
    placed = [{**stamped, "Place": place} for place in (b"orders-3", b"pay-3", b"orders-4")]
    assert read(mirror, {SOURCE_ID}, *placed, stamped) == [(SOURCE_ID, 7), None, None, NO_PLACE]


# Lenses K2K


def of_lenses(offset: bytes, partition: bytes, topic: bytes = b"orders", pipeline: bytes = b"dc1-to-dc2") -> Headers:
    return {"k2k_topic": topic, "k2k_partition": partition, "k2k_offset": offset, "k2k_pipeline": pipeline}


def test_numbers_as_text_are_read() -> None:
    assert read(LENSES, {"dc1-to-dc2"}, of_lenses(b"1234516", b"3"), of_lenses(b"0", b"3"), {}) == [
        ("dc1-to-dc2", 1234516),
        ("dc1-to-dc2", 0),
        None,
    ]


def test_numbers_as_integers_are_read_only_where_that_is_said() -> None:
    stamped = [of_lenses(struct.pack(">q", 1234516), each) for each in (struct.pack(">i", 3), struct.pack(">q", 3))]
    assert read(LENSES_INT64, {"dc1-to-dc2"}, *stamped) == [("dc1-to-dc2", 1234516)] * 2
    assert read(LENSES, {"dc1-to-dc2"}, *stamped) == ["offset header is not a decimal number without sign"] * 2
    as_text = [of_lenses(b"12345678", b"3"), of_lenses(b"12345678", b"0003"), of_lenses(b"77", struct.pack(">i", 3))]
    assert read(LENSES_INT64, {"dc1-to-dc2"}, *as_text) == [
        "offset header is text, eight digits",
        "offset header is text, eight digits",
        "offset header has 2 bytes, not 8",
    ]


def test_a_copy_of_another_place_was_handed_on_and_is_native() -> None:
    assert (
        read(
            LENSES,
            {"dc1-to-dc2"},
            of_lenses(b"7", b"3", topic=b"pay"),
            of_lenses(b"7", b"4"),
            of_lenses(b"x", b"4"),
            of_lenses(b"7", b"4", pipeline=b"unknown"),
        )
        == [None] * 4
    )


@pytest.mark.parametrize("partition", [b"", b"03", b"-3", b"3 ", b"x", struct.pack(">i", 3), b"33333333333"])
@pytest.mark.parametrize("topic", [b"orders", b"pay"])
def test_a_place_that_cannot_be_read_is_malformed_wherever_it_may_be(topic: bytes, partition: bytes) -> None:
    assert read(LENSES, {"dc1-to-dc2"}, of_lenses(b"7", partition, topic)) == [NO_PLACE]


@pytest.mark.parametrize("partition", [b"", b"3", b"0003", b"00000004", b"\0\0\3", b"\xff" * 3])
def test_so_is_one_that_is_no_integer(partition: bytes) -> None:
    stamped = of_lenses(struct.pack(">q", 7), partition)
    assert read(LENSES_INT64, {"dc1-to-dc2"}, stamped) == [NO_PLACE]


def test_a_copy_without_one_of_the_place_headers_is_malformed() -> None:
    whole = of_lenses(b"7", b"3")
    without = [
        {name: value for name, value in whole.items() if name != left} for left in ("k2k_topic", "k2k_partition")
    ]
    assert read(LENSES, {"dc1-to-dc2"}, *without) == [NO_PLACE, NO_PLACE]
    unnamed = [{**whole, "k2k_topic": topic} for topic in (b"", b"or ders", b"\xff")]
    assert read(LENSES, {"dc1-to-dc2"}, *unnamed) == [NO_PLACE] * 3


def test_a_pipeline_that_is_not_configured_tells_no_origin() -> None:
    reason = "origin header 'dc3-to-dc2' is of no cluster that is mirrored to this one"
    assert read(LENSES, {"dc1-to-dc2"}, of_lenses(b"7", b"3", pipeline=b"dc3-to-dc2")) == [reason]


# Both


@pytest.mark.parametrize("encoding", ["text", "int64"])
def test_every_partition_is_told_from_every_other_one(encoding: Encoding) -> None:
    numbers = [0, 1, 9, 10, 47, 48, 57, 58, 255, 256, 65_535, 99_999]
    written = [b"%d" % each if encoding == "text" else struct.pack(">i", each) for each in numbers]
    topic = pa.array([b"orders"] * len(numbers), pa.binary())
    for number in numbers:
        places = read_split_places(topic, pa.array(written, pa.binary()), TopicPartition("orders", number), encoding)
        assert places.is_here.tolist() == [each == number for each in numbers]
        assert places.is_elsewhere.tolist() == [each != number for each in numbers]


def test_a_mirror_without_a_place_says_nothing_of_it() -> None:
    assert places_of({}, "text", ORDERS, np.zeros(0, np.int64)) is None


def test_without_known_origins_any_will_do() -> None:
    columns = {"origin_header": pa.array([b"x"], pa.binary()), "offset_header": pa.array([b"5"], pa.binary())}
    found = decode_stamps(columns, "text", ORDERS, np.zeros(1, np.int64))
    assert (found.origins, found.origin_offset.tolist(), found.is_mirrored.tolist()) == (["x"], [5], [True])
