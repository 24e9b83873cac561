"""Headers that no producer should send: the transform recognises the same copies as the index, and keeps all else."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from connect.mirror_cases import Copy, Headers, MirrorCases, Record
from offset_sync.decode.mirror_headers import confirmed, decode_identities, read_places

pytestmark = [pytest.mark.xdist_group("connect"), pytest.mark.no_cover]
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
    values = [pa.array([None if value is ABSENT else value], pa.binary()) for value in (origin, offset, place)]
    found = decode_identities(values[0], values[1], "text")
    if has_place:
        found = confirmed(found, read_places(values[2], "orders", 3, np.array([AT_MS])))
    return bool(found.is_mirrored[0])


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
    origin, number, place = ([value] for value in copy.stamp())
    found = decode_identities(pa.array(origin, pa.binary()), pa.array(number, pa.binary()), "text")
    places = read_places(pa.array(place, pa.binary()), "orders", 3, np.array([copy.timestamp]))
    found = confirmed(found, places)
    assert found.is_mirrored.tolist() == [True]
    assert (found.origins[found.origin_code[0]], found.origin_offset[0]) == ("dc1", 7)
    names = [name for name, _ in copy.headers]
    assert [names.count(name) for name in ("IDC", "Offset", "Place")] == [1, 1, 1]


def test_the_index_reads_the_stamp_whatever_header_was_there_before(mirror: MirrorCases) -> None:
    native = [case for case in cases() if not is_mirrored(*case, has_place=True)]
    for answer in mirror.apply(*(Record(headers_of(*case), timestamp=AT_MS) for case in native)):
        assert_reads_as_stamped(answer.result)
