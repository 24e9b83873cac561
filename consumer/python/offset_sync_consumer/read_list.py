"""The text of a read list: which offsets of a partition a group has already read at another cluster.

It is the metadata of a commit: ``offset-sync/1 CLUSTER S E BODY``, optionally followed by one NUL. CLUSTER is the id of
the cluster whose offsets these are, 1 to 200 visible ASCII characters. S is the start, which is the committed offset
too, E the largest leader epoch that a listed record may have. BODY is ``r`` or ``z`` (raw DEFLATE) and base64url
without padding of unsigned LEB128 numbers: alternately the distance to the next listed range and its length. ``r``
alone lists nothing. After BODY may follow hints, words that begin with ``late=``; this version ignores them.

Errs to None: a text that deviates in one character is no list, and everything is delivered.
"""

from __future__ import annotations

import base64
import re
import zlib
from bisect import bisect_right
from typing import NamedTuple

_TEXT = re.compile(
    "offset-sync/1 ([!-~]{1,200}) (0|[1-9][0-9]{0,18}) (0|[1-9][0-9]{0,9}) ([rz])([A-Za-z0-9_-]*)(?: late=[!-~]+)*"
)
_LONGEST_TEXT = 4096
"""Offset Sync writes no longer ones."""
_LARGEST_BODY = 1 << 16
_LARGEST_OFFSET, _LARGEST_EPOCH = (1 << 63) - 1, (1 << 31) - 1
_BITS_OF_AN_OFFSET = 63


class ReadList(NamedTuple):
    """The ranges ``[first, end)``, ascending, from *start* on. Records of an epoch above *epoch* are other ones."""

    cluster: str
    start: int
    epoch: int
    firsts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def end(self) -> int:
        """The end of the last range: no offset from here on is listed."""
        return self.ends[-1] if self.ends else self.start

    def contains(self, offset: int) -> bool:
        """True where this offset is listed."""
        before = bisect_right(self.firsts, offset) - 1
        return before >= 0 and offset < self.ends[before]


def decode_read_list(text: str) -> ReadList | None:
    """Return the list of this text; None for anything else."""
    told = _TEXT.fullmatch(text[:-1] if text.endswith("\0") else text) if len(text) <= _LONGEST_TEXT else None
    if told is None or int(told[2]) > _LARGEST_OFFSET or int(told[3]) > _LARGEST_EPOCH:
        return None
    try:
        firsts, ends = _ranges(int(told[2]), _numbers(_content(told[4], told[5])))
    except (ValueError, zlib.error):
        return None
    return ReadList(told[1], int(told[2]), int(told[3]), firsts, ends)


def _content(kind: str, encoded: str) -> bytes:
    content = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    # The decoder takes bits behind the last byte.
    _require(base64.urlsafe_b64encode(content).rstrip(b"=").decode() == encoded)
    if kind == "z":
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        content = inflater.decompress(content, _LARGEST_BODY + 1)
        _require(inflater.eof and not inflater.unused_data and len(content) <= _LARGEST_BODY)
    return content


def _numbers(content: bytes) -> list[int]:
    found, value, shift = [], 0, 0
    for each in content:
        _require(shift < _BITS_OF_AN_OFFSET)
        value |= (each & 0x7F) << shift
        shift += 7
        if each < 0x80:
            _require(each != 0 or shift == 7)
            found.append(value)
            value = shift = 0
    _require(shift == 0)
    return found


def _ranges(start: int, lengths: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    _require(len(lengths) % 2 == 0)
    firsts: list[int] = []
    ends: list[int] = []
    offset = start
    for gap, length in zip(lengths[::2], lengths[1::2]):
        _require(length > 0 and (gap > 0 or not firsts))
        firsts.append(offset + gap)
        offset += gap + length
        ends.append(offset)
    _require(offset <= _LARGEST_OFFSET)
    return tuple(firsts), tuple(ends)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("not a read list")
