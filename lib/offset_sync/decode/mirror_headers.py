"""Decodes the headers that a mirror stamps on its copies, vectorised: origin and offset, and maybe the place.

The place header names the topic and partition of which a record is a copy: ``orders-3``. Applications that forward
headers from input to output (Kafka Streams, Camel, Spring Cloud Stream do) produce records with an origin and offset of
another topic. Taken for copies, they would make unread records of that topic count as read. So a record that names
another place is native: it was produced where it is.

An application that writes to the topic it reads forwards the right place too. Against that the mirror may append the
original's timestamp, ``orders-3@1700000000000``, which must equal the record's own. It requires CreateTime topics, and
helps only where the application gives its records new timestamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Encoding = Literal["text", "int64"]

ORIGIN_HEADER, OFFSET_HEADER, PLACE_HEADER = "origin_header", "offset_header", "place_header"
"""Columns of raw header values: the first two always, the third one where the mirror stamps the place."""
HEADER_COLUMNS = (ORIGIN_HEADER, OFFSET_HEADER, PLACE_HEADER)

ADDED_HEADERS: Mapping[str, str] = {
    "__mskmr": "MSK Replicator",
    **dict.fromkeys(("k2k_topic", "k2k_partition", "k2k_offset", "k2k_pipeline"), "Lenses K2K"),
}
"""Headers that mirrors add to their copies, by the mirror: no part of a record's contents, wherever it is."""
ORIGIN_BYTES = 249
"""An origin may be as long as a topic name; anything longer is no cluster's name."""
NOT_MIRRORED = -1
"""Origin code of a record that has none; as an index it names the last entry, which callers add for such records."""
LARGEST_OFFSET = 2**62 - 1
"""No log is that long; larger numbers mean "not there" in ``translate`` (``NO_LIMIT``)."""
NO_PLACE = "no place header, or none that fits: a mirror that stamps it otherwise, or handed on by an application"
OTHER_ORIGIN = "another origin than the topic is named for"
_DIGITS = 19
_INT64_BYTES = 8
_PLACE_FORM = "^.+-[0-9]+(@-?[0-9]+)?$"


def without_added(headers: Iterable[tuple[str, bytes | None]]) -> tuple[tuple[str, bytes | None], ...]:
    """Return *headers* without ADDED_HEADERS."""
    return tuple(each for each in headers if each[0] not in ADDED_HEADERS)


@dataclass(frozen=True)
class Identities:
    """The identity of each record; arrays of shape (records,). A record neither mirrored nor malformed is native.

    *origin_code* is an index into *origins* (header values as they are; some may occur in no row), *origin_offset* the
    offset there; unless *is_mirrored* they are ``NOT_MIRRORED`` and 0. *reasons* holds one line per malformed row.
    """

    is_mirrored: Flags
    is_malformed: Flags
    origin_code: NDArray[np.int32]
    origins: list[str]
    origin_offset: Ints
    reasons: dict[int, str]

    @property
    def is_native(self) -> Flags:
        """Rows without the two headers."""
        return ~(self.is_mirrored | self.is_malformed)


def all_native(count: int) -> Identities:
    """Return the identities of so many records at the home of their stream: all are native.

    Nothing is mirrored to there, so any headers were forwarded by an application.
    """
    return _identities(np.zeros(count, np.bool_), np.zeros(count, np.int32), [], np.zeros(count, np.int64), {})


def decode_stamps(
    headers: Mapping[str, pa.Array],
    encoding: Encoding,
    where: tuple[str, int],
    timestamp_ms: Ints,
    refusal: Callable[[str], str] = lambda origin: "",
) -> Identities:
    """Return the identities of the records of one partition.

    *headers* are columns of :data:`HEADER_COLUMNS`, null where a record has no such header, or a null one. *where* is
    the topic and partition, *timestamp_ms* the times of the records, shape (records,). *refusal* returns why no copy
    there can be of an origin, "" if one can.

    A record with only one header is native, because the mirror stamps both, and so is one that names another place. If
    a header cannot be read, the place is missing or has another timestamp, or the origin is refused, the record may be
    anything, so it is malformed: unread by every group.
    """
    raw = {name: column.cast(pa.binary()) for name, column in headers.items()}
    origins, offsets = raw[ORIGIN_HEADER], raw[OFFSET_HEADER]
    is_copy = _to_flags(pc.and_(origins.is_valid(), offsets.is_valid()))
    unplaced = list[int]()
    if PLACE_HEADER in raw:
        is_here, is_elsewhere = _read_places(raw[PLACE_HEADER], *where, timestamp_ms)
        is_copy &= ~is_elsewhere
        unplaced = np.flatnonzero(is_copy & ~is_here).tolist()
    codes, names, refused = _decode_origins(origins, is_copy, refusal)
    numbers, is_read = (_read_text if encoding == "text" else _read_int64)(offsets)
    offset_problem = _text_problem if encoding == "text" else _int64_problem
    unread = np.flatnonzero(is_copy & ~is_read).tolist()
    wrong = {row: f"offset header {offset_problem(offsets[row].as_py())}" for row in unread}
    return _identities(is_copy, codes, names, numbers, dict.fromkeys(unplaced, NO_PLACE) | wrong | refused)


def _read_places(places: pa.BinaryArray, topic: str, partition: int, timestamp_ms: Ints) -> tuple[Flags, Flags]:
    """Return which records name their own place, with their timestamp if with any, and which another place."""
    own = f"{topic}-{partition}".encode()
    is_here = pc.equal(places, own)
    is_own = pc.or_(is_here, pc.starts_with(places, own + b"@"))
    is_elsewhere = pc.and_(pc.match_substring_regex(places, _PLACE_FORM), pc.invert(is_own))
    if pc.any(is_own).as_py():
        times = pa.array(timestamp_ms).cast(pa.string()).cast(pa.binary())
        is_here = pc.or_(is_here, pc.equal(places, pc.binary_join_element_wise(own, times, b"@")))
    return _to_flags(is_here), _to_flags(is_elsewhere)


def _to_flags(column: pa.BooleanArray) -> Flags:
    return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False))


def _identities(
    is_copy: Flags, codes: NDArray[np.int32], origins: list[str], offsets: Ints, reasons: dict[int, str]
) -> Identities:
    """Return the identities of rows: copies are mirrored, or malformed where they have a reason."""
    is_malformed = np.zeros(len(is_copy), np.bool_)
    is_malformed[list(reasons)] = True
    is_mirrored = is_copy & ~is_malformed
    codes, offsets = np.where(is_mirrored, codes, np.int32(NOT_MIRRORED)), np.where(is_mirrored, offsets, 0)
    return Identities(is_mirrored, is_malformed, codes, origins, offsets, reasons)


def _decode_origins(
    origins: pa.BinaryArray, is_copy: Flags, refusal: Callable[[str], str]
) -> tuple[NDArray[np.int32], list[str], dict[int, str]]:
    """Return a code per row, the distinct values, each checked once, and reasons; an unreadable value is ''."""
    encoded = pc.if_else(pa.array(is_copy), origins, pa.scalar(None, pa.binary())).dictionary_encode()
    codes = encoded.indices.fill_null(NOT_MIRRORED).to_numpy().astype(np.int32)
    names, problems = list[str](), list[str]()
    for value in encoded.dictionary.to_pylist():
        problem = _origin_problem(value)
        names.append("" if problem else value.decode())
        problems.append(f"origin header {problem}" if problem else refusal(names[-1]))
    is_wrong = np.array([*map(bool, problems), False])  # the last for NOT_MIRRORED
    return codes, names, {row: problems[codes[row]] for row in np.flatnonzero(is_wrong[codes]).tolist()}


def _origin_problem(value: bytes) -> str:
    if not value:
        return "is empty"
    if len(value) > ORIGIN_BYTES:
        return f"has {len(value)} bytes, more than {ORIGIN_BYTES}"
    try:
        value.decode()
    except UnicodeDecodeError:
        return "is not valid UTF-8"
    return ""


def _read_text(offsets: pa.BinaryArray) -> tuple[Ints, Flags]:
    """Read ASCII digits and nothing else: no sign, no space. Return the numbers, and which could be read."""
    is_number = pc.match_substring_regex(offsets, f"^[0-9]{{1,{_DIGITS}}}$").fill_null(False)
    numbers = pc.if_else(is_number, offsets, b"0").cast(pa.string()).cast(pa.uint64()).to_numpy()  # 19 digits fit
    return numbers.astype(np.int64), _to_flags(is_number) & (numbers <= LARGEST_OFFSET)


def _text_problem(offset: bytes) -> str:
    if not offset:
        return "is empty"
    if len(offset) > _DIGITS:
        return f"has {len(offset)} bytes, more than {_DIGITS} digits"
    return f"exceeds {LARGEST_OFFSET}" if offset.isdigit() else "is not a decimal number without sign"


def _read_int64(offsets: pa.BinaryArray) -> tuple[Ints, Flags]:
    """Read eight bytes, big-endian, neither negative nor larger than any offset. Return likewise.

    Eight ASCII digits are text, not a number near 3 * 10^18: no log is that long.
    """
    is_long = pc.equal(pc.binary_length(offsets), _INT64_BYTES).fill_null(False)
    octets = pc.if_else(is_long, offsets, bytes(_INT64_BYTES)).to_pylist()
    numbers = np.frombuffer(b"".join(octets), ">i8").astype(np.int64)
    is_text = pc.match_substring_regex(offsets, f"^[0-9]{{{_INT64_BYTES}}}$")
    return numbers, _to_flags(is_long) & (numbers >= 0) & (numbers <= LARGEST_OFFSET) & ~_to_flags(is_text)


def _int64_problem(offset: bytes) -> str:
    if len(offset) != _INT64_BYTES:
        return f"has {len(offset)} bytes, not {_INT64_BYTES}"
    if offset.isdigit():
        return "is text, eight digits"
    number = int.from_bytes(offset, "big", signed=True)
    return f"{number} is negative" if number < 0 else f"exceeds {LARGEST_OFFSET}"
