"""The mirror's two headers to identities (origin cluster, origin offset), vectorised over Arrow buffers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.decode.arrow_buffers import ByteRows, to_byte_rows, window, with_nulls

Encoding = Literal["text", "int64"]
Flags = NDArray[np.bool_]

ORIGIN_BYTES = 249
"""An origin may be as long as a topic name; anything longer is no cluster's name."""
NOT_MIRRORED = -1
"""Origin code of a record that has none; as an index it names the last entry, which callers add for such records."""
_DIGITS = 19
LARGEST_OFFSET = 2**62 - 1
"""No log is as long as that; the numbers above mean "not there" to those who count with them."""
_INT64_BYTES = 8


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
    origin_offset: NDArray[np.int64]
    reasons: dict[int, str]

    @property
    def is_native(self) -> Flags:
        """Rows without the two headers."""
        return ~(self.is_mirrored | self.is_malformed)

    def without(self, is_wrong: Flags, reasons: dict[int, str]) -> Identities:
        """Return the same where mirrored rows that are *wrong* are malformed, so unread by everyone: *reasons* by row.

        Shape (records,).
        """
        return replace(
            self,
            is_mirrored=self.is_mirrored & ~is_wrong,
            is_malformed=self.is_malformed | is_wrong,
            origin_code=np.where(is_wrong, np.int32(NOT_MIRRORED), self.origin_code),
            origin_offset=np.where(is_wrong, 0, self.origin_offset),
            reasons=self.reasons | reasons,
        )


def decode_identities(
    origin: pa.Array | pa.ChunkedArray, offset: pa.Array | pa.ChunkedArray, encoding: Encoding
) -> Identities:
    """Decode the raw header values of each record; null means that the record has no such header, or a null one.

    A record with one header only is native, for the mirror stamps both. A record with two headers of which one cannot
    be read is malformed: its identity is unknown, so it has to count as unread for every group.
    """
    origins, offsets = to_byte_rows(origin), to_byte_rows(offset)
    if len(origins) != len(offsets):
        raise ValueError(f"{len(origins)} origins but {len(offsets)} offsets")
    has_both = ~(origins.is_null | offsets.is_null)
    reasons: dict[int, str] = {}
    codes, names = _decode_origins(origin, origins, has_both, reasons)
    numbers = (_decode_text if encoding == "text" else _decode_int64)(offsets, np.flatnonzero(has_both), reasons)
    is_malformed = np.zeros(len(origins), np.bool_)
    is_malformed[list(reasons)] = True
    is_mirrored = has_both & ~is_malformed
    return Identities(
        is_mirrored,
        is_malformed,
        np.where(is_mirrored, codes, np.int32(NOT_MIRRORED)),
        names,
        np.where(is_mirrored, numbers, 0),
        reasons,
    )


def _decode_origins(
    column: pa.Array | pa.ChunkedArray, rows: ByteRows, has_both: Flags, reasons: dict[int, str]
) -> tuple[NDArray[np.int32], list[str]]:
    """Return a code per row and the distinct values; each distinct value is checked once. An unreadable one is ''."""
    if not has_both.any():
        return np.full(len(rows), NOT_MIRRORED, np.int32), []
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = with_nulls(array.cast(pa.binary()), ~has_both).dictionary_encode()
    codes = encoded.indices.fill_null(NOT_MIRRORED).to_numpy(zero_copy_only=False).astype(np.int32)
    values = encoded.dictionary.to_pylist()
    problems = [_origin_problem(value) for value in values]
    is_wrong = np.array([*(problem is not None for problem in problems), False])  # the last for NOT_MIRRORED
    for row in np.flatnonzero(is_wrong[codes]).tolist():
        reasons[row] = f"origin header {problems[codes[row]]}"
    return codes, ["" if problem else value.decode() for value, problem in zip(values, problems, strict=True)]


def _origin_problem(value: bytes) -> str | None:
    if not value:
        return "is empty"
    if len(value) > ORIGIN_BYTES:
        return f"has {len(value)} bytes, more than {ORIGIN_BYTES}"
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return "is not valid UTF-8"
    return None


def _decode_text(rows: ByteRows, chosen: NDArray[np.intp], reasons: dict[int, str]) -> NDArray[np.int64]:
    """Read ASCII digits and nothing else: no sign, no space; 19 of them always fit the uint64 used here."""
    numbers = np.zeros(len(rows), np.int64)
    length = (rows.end - rows.start)[chosen]
    fits = (length > 0) & (length <= _DIGITS)
    for row, size in zip(chosen[~fits].tolist(), length[~fits].tolist(), strict=True):
        problem = f"has {size} bytes, more than {_DIGITS} digits" if size else "is empty"
        reasons.setdefault(row, f"offset header {problem}")
    chosen, length = chosen[fits], length[fits]
    total, is_other = _sum_digits(rows, chosen, length)
    is_larger = ~is_other & (total > LARGEST_OFFSET)
    for row in chosen[is_other].tolist():
        reasons.setdefault(row, "offset header is not a decimal number without sign")
    for row in chosen[is_larger].tolist():
        reasons.setdefault(row, f"offset header exceeds {LARGEST_OFFSET}")
    numbers[chosen] = np.where(is_other | is_larger, 0, total).astype(np.int64)
    return numbers


def _sum_digits(
    rows: ByteRows, chosen: NDArray[np.intp], length: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], Flags]:
    """Return the number in each chosen row, and which rows hold anything but digits; loops over digits, not rows."""
    total, is_other = np.zeros(len(chosen), np.uint64), np.zeros(len(chosen), np.bool_)
    start = rows.start[chosen]
    for number in range(int(length.max(initial=0))):
        has_digit = length > number
        digit = rows.content[np.where(has_digit, start + number, 0)] - np.uint8(ord("0"))
        is_other |= has_digit & (digit > 9)
        total[has_digit] = (total * np.uint64(10) + digit)[has_digit]
    return total, is_other


def _decode_int64(rows: ByteRows, chosen: NDArray[np.intp], reasons: dict[int, str]) -> NDArray[np.int64]:
    """Read eight bytes, big-endian, neither negative nor larger than any offset.

    Eight digits are text, not a number of 3 * 10^18, where no log ends.
    """
    numbers = np.zeros(len(rows), np.int64)
    length = (rows.end - rows.start)[chosen]
    fits = length == _INT64_BYTES
    for row, size in zip(chosen[~fits].tolist(), length[~fits].tolist(), strict=True):
        reasons.setdefault(row, f"offset header has {size} bytes, not {_INT64_BYTES}")
    chosen = chosen[fits]
    values = window(rows.content, _INT64_BYTES)[rows.start[chosen]]
    found = values.view(">i8").astype(np.int64)
    for row, number in zip(chosen[found < 0].tolist(), found[found < 0].tolist(), strict=True):
        reasons.setdefault(row, f"offset header {number} is negative")
    is_larger = found > LARGEST_OFFSET
    for row in chosen[is_larger].tolist():
        reasons.setdefault(row, f"offset header exceeds {LARGEST_OFFSET}")
    is_text = (values.view(np.uint8).reshape(-1, _INT64_BYTES) - np.uint8(ord("0")) <= 9).all(axis=1)
    for row in chosen[is_text].tolist():
        reasons.setdefault(row, "offset header is text, eight digits")
    numbers[chosen] = np.where(is_larger, 0, found)
    return numbers
