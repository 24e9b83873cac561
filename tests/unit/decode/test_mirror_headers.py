"""The mirror's headers to identities, against the rules written out for one record."""

from __future__ import annotations

import re
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.decode.mirror_headers import NOT_MIRRORED, Encoding, Identities, decode_identities

LARGEST = 2**62 - 1
Header = bytes | None
Answer = tuple[str, int] | str | None


def decode(pairs: list[tuple[Header, Header]], encoding: Encoding = "text") -> Identities:
    return decode_identities(
        pa.array([origin for origin, _ in pairs], pa.binary()), pa.array([at for _, at in pairs], pa.binary()), encoding
    )


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


def by_the_rules(origin: Header, at: Header, encoding: Encoding) -> Answer:
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


@pytest.mark.parametrize(
    ("offset", "reason"),
    [
        (b"", "offset header is empty"),
        (b"-1", "offset header is not a decimal number without sign"),
        (b"+1", "offset header is not a decimal number without sign"),
        (b" 1", "offset header is not a decimal number without sign"),
        (b"1\n", "offset header is not a decimal number without sign"),
        (b"1\0", "offset header is not a decimal number without sign"),
        (b"1:", "offset header is not a decimal number without sign"),
        (b"/1", "offset header is not a decimal number without sign"),
        (b"0x1F", "offset header is not a decimal number without sign"),
        (b"1.0", "offset header is not a decimal number without sign"),
        ("١".encode(), "offset header is not a decimal number without sign"),
        (b"4611686018427387904", "offset header exceeds 4611686018427387903"),
        (b"9223372036854775807", "offset header exceeds 4611686018427387903"),
        (b"9223372036854775808", "offset header exceeds 4611686018427387903"),
        (b"9999999999999999999", "offset header exceeds 4611686018427387903"),
        (b"00000000000000000001", "offset header has 20 bytes, more than 19 digits"),
        (b"9" * 100_000, "offset header has 100000 bytes, more than 19 digits"),
    ],
)
def test_an_offset_that_is_no_plain_number_is_malformed(offset: bytes, reason: str) -> None:
    assert answers(decode([(b"IDC1", b"5"), (b"IDC1", offset), (b"IDC1", b"123456")])) == [
        ("IDC1", 5),
        reason,
        ("IDC1", 123456),
    ]


headers = st.one_of(st.none(), st.binary(max_size=21), st.integers(0, 2**64).map(lambda number: b"%d" % number))
origins = st.one_of(st.none(), st.sampled_from([b"IDC1", b"IDC2", b"", b"o" * 250]), st.binary(max_size=4))
encoded = st.one_of(headers, st.binary(min_size=8, max_size=8), st.from_regex(b"[0-9]{8}", fullmatch=True))


@law(150)
@given(st.lists(st.tuples(origins, encoded), max_size=20), st.sampled_from(["text", "int64"]), st.integers(0, 20))
def test_every_record_is_judged_by_the_rules_in_every_slice(
    pairs: list[tuple[Header, Header]], encoding: Encoding, start: int
) -> None:
    columns = [pa.array(list(column), pa.binary()).slice(start) for column in (list(zip(*pairs)) or [(), ()])]
    found = answers(decode_identities(columns[0], columns[1], encoding))
    expected = [by_the_rules(*pair, encoding) for pair in pairs[start:]]
    assert [("malformed" if isinstance(answer, str) else answer) for answer in found] == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary(), pa.binary_view()])
def test_other_layouts_and_chunks_are_read(kind: pa.DataType) -> None:
    origin = pa.chunked_array([pa.array(["IDC1"], kind), pa.array([None, "IDC2"], kind)])
    found = decode_identities(origin, pa.array(["1", "2", "3"], kind), "text")
    assert answers(found) == [("IDC1", 1), None, ("IDC2", 3)]
