"""The transform of connect/ on records of MirrorMaker 2: what it stamps, drops and leaves alone, and its options.

It takes for a copy what the index takes for one, so the next flow knows what this one has stamped.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from connect.mirror_cases import Copy, Headers, MirrorCases, Record, Refused
from offset_sync.decode.mirror_headers import HEADER_COLUMNS, Identities, decode_stamps

pytestmark = pytest.mark.xdist_group("connect")
ORDERS: Headers = [("IDC", b"dc2"), ("Offset", b"5"), ("Place", b"orders-3")]
OF_ANOTHER: Headers = [("IDC", b"dc2"), ("Offset", b"5"), ("Place", b"payments-3")]
STAMP = (b"dc1", b"7", b"orders-3")


def stamp_of(mirror: MirrorCases, record: Record, **options: str) -> tuple[bytes | None, ...] | str:
    """Return the stamp that a record is copied with, or what else becomes of it."""
    (answer,) = mirror.apply(record, **options)
    if answer.result is None:
        return "dropped"
    return "as it is" if answer.is_same else answer.result.stamp()


# Rule 1: the record that is given stays as it is.
@pytest.mark.parametrize("headers", [[], OF_ANOTHER])
def test_a_record_that_is_given_again_after_an_error_is_stamped_again_and_not_dropped(
    mirror: MirrorCases, headers: Headers
) -> None:
    once, twice = (mirror.apply(Record(headers), times=times)[0] for times in (1, 2))
    assert twice.given.headers == list(headers)
    assert twice.result is not None
    assert twice.result.stamp() == STAMP
    assert twice.result == once.result


# Rule 2: what is no copy passes.
PLACE: dict[str, Any] = {"cluster": "dc1", "topic": "orders", "partition": 3}


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        (PLACE | {"cluster": None}, {"offset": 7}),
        (PLACE | {"partition": "three"}, {"offset": 7}),
        (PLACE | {"group": "billing"}, {"offset": 7}),
        (PLACE, {"offset": "seven"}),
        (PLACE, None),
        (None, {"offset": 7}),
        ({"file": "a.csv"}, {"line": 7}),
    ],
)
def test_a_record_without_a_place_in_a_log_is_no_copy(
    mirror: MirrorCases, partition: dict[str, Any] | None, offset: dict[str, Any] | None
) -> None:
    (answer,) = mirror.apply({"kind": "raw", "partition": partition, "offset": offset})
    assert answer.is_same
    assert answer.given.headers == []


# Rule 3: a valid stamp is never stamped over.
@pytest.mark.parametrize("place", [b"orders-3", b"orders-3@1700000000000"])
def test_what_was_mirrored_is_not_copied_on(mirror: MirrorCases, place: bytes) -> None:
    record = Record([*ORDERS[:2], ("Place", place)])
    assert stamp_of(mirror, record) == "dropped"
    assert stamp_of(mirror, record, on_mirrored="pass") == "as it is"


def test_a_record_cannot_be_a_copy_of_a_later_one_of_its_own_log(mirror: MirrorCases) -> None:
    """As after the topic was recreated."""
    assert stamp_of(mirror, Record([("IDC", b"dc1"), ("Offset", b"8"), ("Place", b"orders-3")])) == STAMP


def test_a_remote_topic_holds_copies_by_the_name_that_it_has_at_their_origin(mirror: MirrorCases) -> None:
    """As DefaultReplicationPolicy renames it; other topics hold what an application has handed on."""
    remote = Record(ORDERS, topic="dc2.orders", renames=True)
    assert stamp_of(mirror, remote) == "dropped"
    assert stamp_of(mirror, remote, on_mirrored="pass") == "as it is"
    for topic, renames in (("dc2.orders", False), ("dc3.orders", True), ("dc2.new.orders", True), ("dc2orders", True)):
        found = stamp_of(mirror, Record(ORDERS, topic=topic, renames=renames))
        assert found == (b"dc1", b"7", f"{topic}-3".encode())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_mirrored": "skip"}, "skip for configuration on.mirrored: String must be one of: drop, pass"),
        ({"origin": "ü" * 125}, "origin: has more than 249 bytes"),
        ({"place_header": None}, "place.header: entry must be non null"),
        ({"place_header": "IDC"}, "IDC for configuration place.header: is the name of another"),
    ],
)
def test_what_is_wrong_is_refused_by_name(mirror: MirrorCases, options: dict[str, str | None], said: str) -> None:
    with pytest.raises(Refused, match=r"^ConfigException: Invalid value") as refused:
        mirror.apply(Record(), **options)
    assert said in str(refused.value)


ABSENT = b"absent"
AT_MS = 1_700_000_000_000
ORIGINS = [ABSENT, None, b"", b"dc2", "zürich".encode(), b"\xff", b"\xed\xa0\x80", b"x" * 249, b"x" * 250]
OFFSETS = [ABSENT, None, b"", b"5", b"0", b"007", b"-1", b"+1", b" 5", b"5.0", b"\xff", "٥".encode()]
OFFSETS += [b"%d" % number for number in (2**62 - 1, 2**62, 2**63 - 1, 2**63, 10**19 - 1, 10**19)]
OFFSETS += [b"0" * 19, b"0" * 20, b"1" * 4096, (5).to_bytes(8, "big")]
PLACES = [ABSENT, None, b"", b"orders-3", b"orders-33", b"orders", b"3", b"-3", b"orders-3 ", b"Orders-3", b"orders-03"]
PLACES += [b"orders-3@%d" % AT_MS, b"orders-3@%d" % (AT_MS + 1), b"orders-3@", b"orders-3@0%d" % AT_MS, b"\xff-3"]
PLACES += [b"orders-3@1@%d" % AT_MS, b"@%d" % AT_MS, b"payments-3", b"x" * 4096, b"orders-3" + b" " * 300]


def headers_of(origin: bytes | None, offset: bytes | None, place: bytes | None) -> Headers:
    named = zip(("IDC", "Offset", "Place"), (origin, offset, place), strict=True)
    return [(name, value) for name, value in named if value is not ABSENT]


def is_mirrored(origin: bytes | None, offset: bytes | None, place: bytes | None, *, has_place: bool) -> bool:
    """Return what the index makes of a record of partition 3; no header and one without a value are the same to it."""
    values = [None if value is ABSENT else value for value in (origin, offset, place)]
    return bool(read(values[: 2 + has_place], AT_MS).is_mirrored[0])


def read(values: Sequence[bytes | None], timestamp_ms: int) -> Identities:
    """Return what the index makes of a record with these *values* of headers."""
    headers = {name: pa.array([value], pa.binary()) for name, value in zip(HEADER_COLUMNS, values, strict=False)}
    return decode_stamps(headers, "text", ("orders", 3), np.array([timestamp_ms]))


def cases() -> list[tuple[bytes | None, bytes | None, bytes | None]]:
    """Return every pair of odd values beside a good third one, and all three odd."""
    beside_origin = [(b"dc2", offset, place) for offset, place in itertools.product(OFFSETS, PLACES)]
    beside_offset = [(origin, b"5", place) for origin, place in itertools.product(ORIGINS, PLACES)]
    beside_place = [(origin, offset, b"orders-3") for origin, offset in itertools.product(ORIGINS, OFFSETS)]
    return [*beside_origin, *beside_offset, *beside_place]


@pytest.mark.parametrize("place_header", ["Place", ""])
def test_the_transform_takes_for_a_copy_what_the_index_takes_for_one(mirror: MirrorCases, place_header: str) -> None:
    asked = cases()
    wanted = [is_mirrored(*case, has_place=bool(place_header)) for case in asked]
    assert 20 < sum(wanted) < len(wanted) - 100
    answers = mirror.apply(*(Record(headers_of(*case), timestamp=AT_MS) for case in asked), place_header=place_header)
    dropped = [answer.result is None for answer in answers]
    assert [case for case, found, right in zip(asked, dropped, wanted) if found != right] == []


def assert_reads_as_stamped(copy: Copy | None) -> None:
    """AssertionError unless the index reads of the copy that it is of offset 7 of dc1, in partition 3."""
    assert copy is not None
    found = read(copy.stamp(), copy.timestamp)
    assert found.is_mirrored.tolist() == [True]
    assert (found.origins[found.origin_code[0]], found.origin_offset[0]) == ("dc1", 7)
    names = [name for name, _ in copy.headers]
    assert [names.count(name) for name in ("IDC", "Offset", "Place")] == [1, 1, 1]


def test_the_index_reads_the_stamp_whatever_header_was_there_before(mirror: MirrorCases) -> None:
    native = [case for case in cases() if not is_mirrored(*case, has_place=True)]
    for answer in mirror.apply(*(Record(headers_of(*case), timestamp=AT_MS) for case in native)):
        assert_reads_as_stamped(answer.result)
