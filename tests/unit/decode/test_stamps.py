"""What headers make of a record beside its origin and offset: its place, the origins that can be, and its home."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.config import Mirror
from offset_sync.decode.mirror_headers import (
    NO_PLACE,
    NOT_MIRRORED,
    OTHER_ORIGIN,
    Identities,
    all_native,
    confirmed,
    decode_identities,
    decode_stamps,
    of_one_origin,
    read_places,
    without_added,
)
from offset_sync.model.values import TopicPartition

AT_MS = 1_700_000_000_000


def judged(place: bytes | None, origin: bytes | None = b"dc2", offset: bytes | None = b"5") -> str:
    """Return what a record at orders-3, of the time AT_MS, counts as."""
    headers = [pa.array([each], pa.binary()) for each in (origin, offset, place)]
    found = decode_identities(headers[0], headers[1], "text")
    found = confirmed(found, read_places(headers[2], "orders", 3, np.array([AT_MS])))
    assert found.reasons.keys() == set(np.flatnonzero(found.is_malformed).tolist())
    if found.is_malformed[0]:
        return found.reasons[0]
    assert bool(found.is_mirrored[0]) == (found.origin_code[0] >= 0)
    return f"{found.origins[found.origin_code[0]]}:{found.origin_offset[0]}" if found.is_mirrored[0] else "native"


@pytest.mark.parametrize("place", [b"orders-3", b"orders-3@1700000000000"])
def test_what_names_its_own_place_is_a_copy(place: bytes) -> None:
    assert judged(place) == "dc2:5"


@pytest.mark.parametrize("place", [b"orders-2", b"orders-33", b"payments-3", b"payments-3@1700000000000", b"a-b-7"])
def test_what_names_another_place_was_produced_here_whatever_else_it_says(place: bytes) -> None:
    assert judged(place) == "native"
    assert judged(place, offset=b"x") == "native"


@pytest.mark.parametrize(
    "place",
    [None, b"", b"orders", b"orders/3", b"orders-3 ", b"orders-3@", b"orders-3@1700000000001", b"orders-3@1@", b"\xff"],
)
def test_a_stamp_without_a_place_or_with_its_own_at_another_time_decides_nothing(place: bytes | None) -> None:
    """A copy may come with another time, where a topic stamps its own, and a mirror may write places otherwise."""
    assert judged(place) == NO_PLACE
    assert judged(place, offset=b"x") == "offset header is not a decimal number without sign"


@pytest.mark.parametrize("place", [None, b"", b"orders-3", b"payments-0"])
def test_a_record_without_the_other_headers_is_native(place: bytes | None) -> None:
    assert judged(place, origin=None) == judged(place, offset=None) == judged(place, None, None) == "native"


# A log whose records are all of one origin: headers that say otherwise are another client's


def identities() -> Identities:
    origins = [b"dc1", b"dc2", None, b"dc1", b""]
    offsets = [b"5", b"6", None, b"x", b"7"]
    return decode_identities(pa.array(origins, pa.binary()), pa.array(offsets, pa.binary()), "text")


def test_at_home_every_record_is_native_whatever_its_headers_say() -> None:
    found = all_native(identities())
    assert found.is_native.all()
    assert found.reasons == {}
    assert found.origin_code.tolist() == [NOT_MIRRORED] * 5
    assert found.origin_offset.tolist() == [0] * 5


def test_in_a_copy_what_names_another_origin_is_malformed_and_the_rest_as_it_was() -> None:
    before = identities()
    is_home = np.array([*(each == "dc1" for each in before.origins), False])[before.origin_code]
    found = of_one_origin(before, is_home)
    assert found.is_mirrored.tolist() == [True, False, False, False, False]
    assert found.is_malformed.tolist() == [False, True, False, True, True]
    assert found.is_native.tolist() == [False, False, True, False, False]
    assert found.reasons[1] == OTHER_ORIGIN
    assert found.reasons.keys() == {1, *before.reasons}
    assert of_one_origin(before, before.is_mirrored) is before


# Records stamped as Redpanda Migrator stamps them, byte for byte, and what must not pass for that

ORDERS = TopicPartition("orders", 3)
SOURCE_ID, OWN_ID = "Qm9va1N0b3JlLUthZmthMQ", "redpanda.8ea48d4b-1f0c-4b5e-a0f4-6e2c1ab5f3d2"
REDPANDA = Mirror(preset="redpanda-migrator")
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


# migrator.go writes []byte(metadata.Cluster) and binary.BigEndian.AppendUint64(nil, offset)


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


def test_redpandas_own_headers_may_be_given_a_place() -> None:
    """``headers: {Place: '${! @kafka_topic }-${! @kafka_partition }'}`` of the output."""
    mirror = Mirror(preset="redpanda-migrator", place_header="Place")
    stamped = of_redpanda(SOURCE_ID, struct.pack(">Q", 7))
    placed = [{**stamped, "Place": place} for place in (b"orders-3", b"pay-3", b"orders-4")]
    assert read(mirror, {SOURCE_ID}, *placed, stamped) == [(SOURCE_ID, 7), None, None, NO_PLACE]
    # What names another place is native, also where its origin is of no cluster and its offset cannot be read.
    handed_on = [{**each, "Place": b"orders-4"} for each in (of_redpanda("third", b"\0" * 8), of_redpanda("x", b"7"))]
    assert read(mirror, {SOURCE_ID}, *handed_on) == [None, None]


def test_records_of_one_batch_are_judged_each_by_itself() -> None:
    places = pa.array([b"orders-3@7", None, b"orders-3", b"x-0", b"orders-3@8"], pa.binary())
    found = read_places(places, "orders", 3, np.array([7, 7, 7, 7, 7]))
    assert found.is_here.tolist() == [True, False, True, False, False]
    assert found.is_elsewhere.tolist() == [False, False, False, True, False]


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


def test_what_a_mirror_adds_to_its_copies_is_no_part_of_a_record() -> None:
    assert without_added([("a", b"1"), ("__mskmr", b"a"), ("k2k_offset", None), ("b", None)]) == (
        ("a", b"1"),
        ("b", None),
    )
