"""The mirror's headers to identities, against the rules written out for one record."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.decode.mirror_headers import (
    HEADER_COLUMNS,
    NO_PLACE,
    NOT_MIRRORED,
    OFFSET_HEADER,
    ORIGIN_HEADER,
    Encoding,
    Identities,
    all_native,
    decode_stamps,
    without_added,
)

LARGEST = 2**62 - 1
INT64 = struct.Struct(">q")
AT_MS = 1_700_000_000_000
OWN_PLACE = b"orders-3"
Header = bytes | None
Answer = tuple[str, int] | str | None
Batch = list[tuple[Header, Header, Header]]


def answers(found: Identities) -> list[Answer]:
    """One answer per record: (origin, offset) mirrored, a reason malformed, None native."""
    assert not (found.is_mirrored & found.is_malformed).any()
    assert np.array_equal(found.is_native, ~(found.is_mirrored | found.is_malformed))
    assert sorted(found.reasons) == np.flatnonzero(found.is_malformed).tolist()
    assert set(found.origin_code[~found.is_mirrored].tolist()) <= {NOT_MIRRORED}
    assert set(found.origin_offset[~found.is_mirrored].tolist()) <= {0}
    return [
        (found.origins[found.origin_code[row]], int(found.origin_offset[row]))
        if found.is_mirrored[row]
        else found.reasons.get(row)
        for row in range(len(found.is_mirrored))
    ]


def identity(origin: Header, at: Header, encoding: Encoding) -> Answer:
    if origin is None or at is None:
        return None
    try:
        name = origin.decode()
    except UnicodeDecodeError:
        return "malformed"
    if not name or len(origin) > 249:
        return "malformed"
    if encoding == "int64":
        number = struct.unpack(">q", at)[0] if len(at) == 8 and not re.fullmatch(b"[0-9]{8}", at) else -1
        return (name, number) if 0 <= number <= LARGEST else "malformed"
    is_number = 1 <= len(at) <= 19 and all(octet in b"0123456789" for octet in at)
    return (name, int(at)) if is_number and int(at) <= LARGEST else "malformed"


REFUSED = "another cluster"


def refused(origin: str) -> str:
    return "" if origin == "IDC1" else REFUSED


def by_the_rules(origin: Header, at: Header, place: Header, encoding: Encoding, has_place: bool, known: bool) -> Answer:
    """A record that names another place is native whatever else it says, one that names none may be anything."""
    found, said = identity(origin, at, encoding), place or b""
    is_refused = known and isinstance(found, tuple) and found[0] != "IDC1"
    if has_place and found is not None and said not in (OWN_PLACE, b"%b@%d" % (OWN_PLACE, AT_MS)):
        if re.fullmatch(rb"(?s).+-[0-9]+(@-?[0-9]+)?", said) and not said.startswith(OWN_PLACE + b"@"):
            return None
        found = found if isinstance(found, str) else NO_PLACE
    return REFUSED if is_refused else found


origins = st.none() | st.binary(max_size=4) | st.sampled_from([b"IDC1", b"IDC1", b"IDC2", b"", b"o" * 249, b"o" * 250])
edges = st.sampled_from([0, 9, 10, 10**18, LARGEST, LARGEST + 1]) | st.integers(0, 2**63 - 1)
octets = st.none() | st.binary(max_size=21) | st.from_regex(b"[0-9]{8}", fullmatch=True)
numbers = {"text": edges.map(lambda number: b"%d" % number), "int64": edges.map(INT64.pack)}
others = [b"", b"orders", b"orders/3", b"orders-3 ", b"orders-3@", b"orders-3@1700000000001", b"orders-3@1@", b"\xff"]
elsewhere = [b"orders-2", b"orders-33", b"payments-3", b"payments-3@1700000000000", b"a-b-7", b"x-0@-1"]
places = st.sampled_from([None, OWN_PLACE, OWN_PLACE, b"orders-3@1700000000000", *others, *elsewhere])


def batches(encoding: Encoding) -> st.SearchStrategy[tuple[Encoding, Batch]]:
    copies = st.tuples(st.sampled_from([b"IDC1", b"IDC2", b"o" * 249]), numbers[encoding], places)
    return st.tuples(st.just(encoding), st.lists(copies | st.tuples(origins, octets | numbers[encoding], places)))


@law(1000)
@given(st.sampled_from(["text", "int64"]).flatmap(batches), st.booleans(), st.booleans(), st.integers(0, 3))
def test_every_record_is_judged_by_the_rules_in_every_slice(
    drawn: tuple[Encoding, Batch], has_place: bool, known: bool, start: int
) -> None:
    encoding, records = drawn
    columns = {
        name: pa.array([record[n] for record in records], pa.binary()).slice(start)
        for n, name in enumerate(HEADER_COLUMNS[: 2 + has_place])
    }
    times = np.full(max(0, len(records) - start), AT_MS)
    found = decode_stamps(columns, encoding, ("orders", 3), times, *([refused] if known else []))
    expected = [by_the_rules(*record, encoding, has_place, known) for record in records[start:]]
    told = [
        "malformed" if wanted == "malformed" and isinstance(answer, str) else answer
        for answer, wanted in zip(answers(found), expected, strict=True)
    ]
    assert told == expected


def of_two_headers(
    origin: Sequence[str | bytes | None],
    offset: Sequence[str | bytes | None],
    kind: pa.DataType,
    encoding: Encoding = "text",
) -> Identities:
    columns = {name: pa.array(each, kind) for name, each in ((ORIGIN_HEADER, origin), (OFFSET_HEADER, offset))}
    return decode_stamps(columns, encoding, ("orders", 3), np.full(len(origin), AT_MS), lambda origin: "")


NO_NUMBER, TOO_LARGE = "is not a decimal number without sign", "exceeds 4611686018427387903"


@pytest.mark.parametrize(
    ("encoding", "offset", "reason"),
    [
        ("text", b"", "is empty"),
        *(("text", each, NO_NUMBER) for each in (b"-1", b" 1", b"1\n", b"1:", b"/1", b"0x1F")),
        ("text", "١".encode(), NO_NUMBER),
        *(("text", b"%d" % each, TOO_LARGE) for each in (2**62, 2**63 - 1, 2**63, 10**19 - 1)),
        ("text", b"00000000000000000001", "has 20 bytes, more than 19 digits"),
        ("int64", b"", "has 0 bytes, not 8"),
        ("int64", b"12345679", "is text, eight digits"),
        ("int64", struct.pack(">q", -1), "-1 is negative"),
        ("int64", struct.pack(">q", 2**62), TOO_LARGE),
    ],
)
def test_an_offset_that_is_no_plain_number_is_malformed(encoding: Encoding, offset: bytes, reason: str) -> None:
    sound, number = (b"5", 5) if encoding == "text" else (b"1234567:", int.from_bytes(b"1234567:"))
    found = of_two_headers(["A", "B"], [offset, sound], pa.binary(), encoding)
    assert answers(found) == [f"offset header {reason}", ("B", number)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary(), pa.binary_view()])
def test_other_layouts_are_read(kind: pa.DataType) -> None:
    found = of_two_headers(["IDC1", None, "IDC2"], ["1", "2", "3"], kind)
    assert answers(found) == [("IDC1", 1), None, ("IDC2", 3)]


def test_what_no_origin_can_be_is_malformed_with_its_reason_and_at_home_every_record_is_native() -> None:
    found = of_two_headers([b"dc1", None, b"", b"\xff", b"o" * 250], [b"x", None, b"7", b"8", b"9"], pa.binary())
    of_origin = ["is empty", "is not valid UTF-8", "has 250 bytes, more than 249"]
    wrong = [f"offset header {NO_NUMBER}", None, *(f"origin header {reason}" for reason in of_origin)]
    assert answers(found) == wrong
    assert answers(all_native(2)) == [None] * 2


def test_what_a_mirror_adds_to_its_copies_is_no_part_of_a_record() -> None:
    assert without_added([("a", b"1"), ("__mskmr", b"a"), ("k2k_offset", None)]) == (("a", b"1"),)
