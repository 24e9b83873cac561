"""Which records are copies, by the header that names their place: those that others only handed on are not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.decode.mirror_headers import decode_identities
from offset_sync.decode.place_header import NO_PLACE, confirmed, read_places

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
def test_of_what_names_no_place_or_its_own_at_another_time_nobody_can_tell(place: bytes | None) -> None:
    """A copy may come with another time, where a topic stamps its own, and a mirror may write places otherwise."""
    assert judged(place) == NO_PLACE
    assert judged(place, offset=b"x") == "offset header is not a decimal number without sign"


@pytest.mark.parametrize("place", [None, b"", b"orders-3", b"payments-0"])
def test_a_record_without_the_other_headers_is_native(place: bytes | None) -> None:
    assert judged(place, origin=None) == judged(place, offset=None) == judged(place, None, None) == "native"


def test_an_own_place_makes_no_unreadable_header_readable() -> None:
    assert judged(b"orders-3", offset=b"x") == "offset header is not a decimal number without sign"


def test_records_of_one_batch_are_judged_each_by_itself() -> None:
    places = pa.array([b"orders-3@7", None, b"orders-3", b"x-0", b"orders-3@8"], pa.binary())
    found = read_places(places, "orders", 3, np.array([7, 7, 7, 7, 7]))
    assert found.is_here.tolist() == [True, False, True, False, False]
    assert found.is_elsewhere.tolist() == [False, False, False, True, False]
