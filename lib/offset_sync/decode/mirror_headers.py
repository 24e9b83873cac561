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

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

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

    def judged(self, is_native: Flags | bool, reasons: dict[int, str]) -> Identities:
        """Return the same with *is_native* rows native whatever their headers say, and the rows of *reasons* malformed.

        Malformed records are unread by every group.
        """
        if not (reasons or np.any(is_native)):
            return self
        still_malformed = np.flatnonzero(self.is_malformed & ~np.asarray(is_native)).tolist()
        return _identities(
            self.is_mirrored & ~np.asarray(is_native),
            self.origin_code,
            self.origins,
            self.origin_offset,
            {row: self.reasons[row] for row in still_malformed} | reasons,
        )


class NamedPlaces(NamedTuple):
    """What place headers name, shape (records,): the record's own place, another one, or neither."""

    is_here: Flags
    is_elsewhere: Flags


def decode_stamps(
    headers: Mapping[str, pa.Array],
    encoding: Encoding,
    where: tuple[str, int],
    timestamp_ms: Ints,
    known: Collection[str] | None = None,
) -> Identities:
    """Return the identities of the records of one partition; *headers* are columns of :data:`HEADER_COLUMNS`.

    *where* is their topic and partition, *timestamp_ms* their times, shape (records,).

    *known* are the only origins that a copy can have there; None: any. A record with another one is malformed, because
    its offset may be of another cluster. Errs to malformed: such a record is unread by every group.
    """
    found = decode_identities(headers[ORIGIN_HEADER], headers[OFFSET_HEADER], encoding)
    if (places := places_of(headers, where, timestamp_ms)) is not None:
        found = confirmed(found, places)
    if known is None:
        return found
    is_unknown = np.array([*(origin not in known for origin in found.origins), False])[found.origin_code]
    reason = "origin header {!a} is of no cluster that is mirrored to this one"
    rows = np.flatnonzero(is_unknown).tolist()
    return found.judged(False, {row: reason.format(found.origins[found.origin_code[row]]) for row in rows})


def all_native(found: Identities) -> Identities:
    """Return the identities of records at the home of their stream: all are native.

    Nothing is mirrored to there, so any headers were forwarded by an application.
    """
    return found.judged(True, {})


def of_one_origin(found: Identities, is_of_home: Flags) -> Identities:
    """Return the identities in a copy of a stream that is produced only at its home.

    *is_of_home* marks the records that name the home, shape (records,). One that names another origin is malformed, so
    unread by every group.
    """
    is_other = found.is_mirrored & ~is_of_home
    return found.judged(False, dict.fromkeys(np.flatnonzero(is_other).tolist(), OTHER_ORIGIN))


def places_of(headers: Mapping[str, pa.Array], where: tuple[str, int], timestamp_ms: Ints) -> NamedPlaces | None:
    """Compare the records' place headers with *where* they are; None where the mirror stamps none."""
    return read_places(headers[PLACE_HEADER], *where, timestamp_ms) if PLACE_HEADER in headers else None


def read_places(header: pa.Array, topic: str, partition: int, timestamp_ms: Ints) -> NamedPlaces:
    """Compare raw place headers of one partition's records with its name and their timestamps."""
    own = f"{topic}-{partition}".encode()
    is_here = pc.equal(header, pa.scalar(own, header.type))
    is_own = pc.or_(is_here, pc.starts_with(header, own + b"@"))
    is_elsewhere = pc.and_(pc.match_substring_regex(header, _PLACE_FORM), pc.invert(is_own))
    if pc.any(is_own).as_py():
        times = pc.cast(pc.cast(pa.array(timestamp_ms), pa.string()), header.type)
        timed = pc.binary_join_element_wise(pa.scalar(own, header.type), times, pa.scalar(b"@", header.type))
        is_here = pc.or_(is_here, pc.equal(header, timed))
    return NamedPlaces(*(pc.fill_null(each, False).to_numpy(zero_copy_only=False) for each in (is_here, is_elsewhere)))


def confirmed(found: Identities, places: NamedPlaces) -> Identities:
    """Keep as mirrored only records that name their own place.

    A record that names another place is native. One that names none, or its own with another timestamp, may be either,
    so it is malformed: unread by every group.
    """
    is_unplaced = found.is_mirrored & ~places.is_here & ~places.is_elsewhere
    return found.judged(places.is_elsewhere, dict.fromkeys(np.flatnonzero(is_unplaced).tolist(), NO_PLACE))


def decode_identities(
    origin: pa.Array | pa.ChunkedArray, offset: pa.Array | pa.ChunkedArray, encoding: Encoding
) -> Identities:
    """Decode the raw header values of each record; null means that the record has no such header, or a null one.

    A record with only one header is native, because the mirror stamps both. A record with two headers of which one
    cannot be read is malformed: its identity is unknown, so it has to count as unread for every group.
    """
    origins, offsets = _to_binary(origin), _to_binary(offset)
    has_both = _to_flags(pc.and_(origins.is_valid(), offsets.is_valid()))
    codes, names, problems = _decode_origins(origins, has_both)
    numbers, is_read = (_read_text if encoding == "text" else _read_int64)(offsets)
    offset_problem = _text_problem if encoding == "text" else _int64_problem
    unread = np.flatnonzero(has_both & ~is_read).tolist()
    reasons = {row: f"offset header {offset_problem(offsets[row].as_py())}" for row in unread}
    return _identities(has_both, codes, names, numbers, reasons | problems)


def _to_binary(column: pa.Array | pa.ChunkedArray) -> pa.BinaryArray:
    return (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).cast(pa.binary())


def _to_flags(column: pa.BooleanArray) -> Flags:
    return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False))


def _identities(
    has_both: Flags, codes: NDArray[np.int32], origins: list[str], offsets: Ints, reasons: dict[int, str]
) -> Identities:
    """Return the identities of rows: those with both headers are mirrored, or malformed where they have a reason."""
    is_malformed = np.zeros(len(has_both), np.bool_)
    is_malformed[list(reasons)] = True
    is_mirrored = has_both & ~is_malformed
    codes, offsets = np.where(is_mirrored, codes, np.int32(NOT_MIRRORED)), np.where(is_mirrored, offsets, 0)
    return Identities(is_mirrored, is_malformed, codes, origins, offsets, reasons)


def _decode_origins(origins: pa.BinaryArray, has_both: Flags) -> tuple[NDArray[np.int32], list[str], dict[int, str]]:
    """Return a code per row, the distinct values, each checked once, and reasons; an unreadable value is ''."""
    encoded = pc.if_else(pa.array(has_both), origins, pa.scalar(None, pa.binary())).dictionary_encode()
    codes = encoded.indices.fill_null(NOT_MIRRORED).to_numpy().astype(np.int32)
    values = encoded.dictionary.to_pylist()
    problems = [_origin_problem(value) for value in values]
    is_wrong = np.array([*map(bool, problems), False])  # the last for NOT_MIRRORED
    reasons = {row: f"origin header {problems[codes[row]]}" for row in np.flatnonzero(is_wrong[codes]).tolist()}
    return codes, ["" if problem else value.decode() for value, problem in zip(values, problems, strict=True)], reasons


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
