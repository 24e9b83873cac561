"""Records stamped as Redpanda Migrator stamps them, byte for byte, and what must not pass for that."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.config import Mirror
from offset_sync.decode.place_header import NO_PLACE
from offset_sync.decode.stamps import decode_stamps, places_of
from offset_sync.model.values import TopicPartition

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
    # What names another place is native, also where its origin is of no cluster and its offset cannot be read.
    handed_on = [{**each, "Place": b"orders-4"} for each in (of_redpanda("third", b"\0" * 8), of_redpanda("x", b"7"))]
    assert read(mirror, {SOURCE_ID}, *handed_on) == [None, None]


def test_a_mirror_without_a_place_says_nothing_of_it() -> None:
    assert places_of({}, ORDERS, np.zeros(0, np.int64)) is None


def test_without_known_origins_any_will_do() -> None:
    columns = {"origin_header": pa.array([b"x"], pa.binary()), "offset_header": pa.array([b"5"], pa.binary())}
    found = decode_stamps(columns, "text", ORDERS, np.zeros(1, np.int64))
    assert (found.origins, found.origin_offset.tolist(), found.is_mirrored.tolist()) == (["x"], [5], [True])
