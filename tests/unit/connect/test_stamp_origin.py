"""The transform of connect/ on records of MirrorMaker 2: what it stamps, drops and leaves alone, and its options."""

from __future__ import annotations

from typing import Any

import pytest

from connect.mirror_cases import Headers, MirrorCases, Record, Refused

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


def test_the_next_flow_knows_what_this_one_has_stamped(mirror: MirrorCases) -> None:
    """Also where this one was in doubt: so a record goes one step too far, and never round and round."""
    for headers in ([], OF_ANOTHER, [*ORDERS[:2]], [("IDC", b"\xff"), ("Offset", b"x")]):
        (answer,) = mirror.apply(Record(headers, topic="a-b", partition=3))
        assert answer.result is not None
        back = Record(answer.result.headers, cluster="dc2", topic="a-b", offset=20)
        assert stamp_of(mirror, back) == "dropped"


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
