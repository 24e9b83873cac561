"""Texts of read lists: written as Offset Sync writes them, and read by a reader of its own for comparison.

``golden/read_list_texts.json`` holds texts and what they mean, null where a text is no list.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[2] / "golden" / "read_list_texts.json"
_TEXT = re.compile(
    r"offset-sync/1 (0|[1-9]\d{0,18}) (0|[1-9]\d{0,9}) ([rz])([A-Za-z0-9_-]*)((?: late=[!-~]+)*)\0?", re.ASCII
)
_LARGEST_OFFSET = (1 << 63) - 1
_LARGEST_EPOCH = (1 << 31) - 1
_LARGEST_BODY = 4 << 20

Ranges = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Reading:
    """What a text says; *ranges* are half-open."""

    start: int
    epoch: int
    ranges: tuple[tuple[int, int], ...]


def corpus() -> dict[str, tuple[str, Reading | None]]:
    """Return the text and the meaning of each case of the corpus."""
    cases: list[dict[str, Any]] = json.loads(CORPUS.read_text(encoding="utf-8"))
    return {each["case"]: (each["text"], _reading(each["list"])) for each in cases}


def list_text(start: int, epoch: int, ranges: Ranges, *, deflates: bool = False) -> str:
    """Return the text of a list, with the NUL at its end."""
    lengths = []
    at = start
    for first, end in ranges:
        lengths += [first - at, end - first]
        at = end
    return f"offset-sync/1 {start} {epoch} {body(leb128(lengths), deflates=deflates)}\0"


def body(content: bytes, *, deflates: bool = False) -> str:
    """Return the last word of a list whose numbers are these bytes."""
    if deflates:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        content = packer.compress(content) + packer.flush()
    return ("z" if deflates else "r") + base64.urlsafe_b64encode(content).decode().rstrip("=")


def leb128(numbers: Iterable[int]) -> bytes:
    """Return the shortest form of each number, one behind the other."""
    content = bytearray()
    for number in numbers:
        while number > 0x7F:
            content.append(number & 0x7F | 0x80)
            number >>= 7
        content.append(number)
    return bytes(content)


def ranges_of(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Return the half-open ranges of these offsets."""
    ranges: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if ranges and ranges[-1][1] == offset:
            ranges[-1] = (ranges[-1][0], offset + 1)
        else:
            ranges.append((offset, offset + 1))
    return ranges


def read_text(text: str) -> Reading | None:
    """Return what *text* says, None where it is no list."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    start, epoch = int(found[1]), int(found[2])
    numbers = _numbers(found[3], found[4])
    if numbers is None or len(numbers) % 2 or max(start, *numbers, 0) > _LARGEST_OFFSET or epoch > _LARGEST_EPOCH:
        return None
    ranges, at = [], start
    for place, (gap, length) in enumerate(zip(numbers[::2], numbers[1::2], strict=True)):
        if length == 0 or (gap == 0 and place):
            return None
        ranges.append((at + gap, at + gap + length))
        at += gap + length
    return None if at > _LARGEST_OFFSET else Reading(start, epoch, tuple(ranges))


def _numbers(kind: str, encoded: str) -> list[int] | None:
    if len(encoded) % 4 == 1:
        return None
    content = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    if base64.urlsafe_b64encode(content).decode().rstrip("=") != encoded:
        return None
    if kind == "z":
        unpacker = zlib.decompressobj(-15)
        try:
            content = unpacker.decompress(content, _LARGEST_BODY + 1)
        except zlib.error:
            return None
        if len(content) > _LARGEST_BODY or not unpacker.eof or unpacker.unused_data:
            return None
    numbers = [_number(each) for each in re.findall(rb"[\x80-\xff]*[\0-\x7f]", content, re.DOTALL)]
    ends_midway = bool(content) and content[-1] > 0x7F
    return None if ends_midway or None in numbers else [each for each in numbers if each is not None]


def _number(content: bytes) -> int | None:
    if len(content) > 9 or (len(content) > 1 and content[-1] == 0):
        return None
    return sum((each & 0x7F) << 7 * place for place, each in enumerate(content))


def _reading(told: dict[str, Any] | None) -> Reading | None:
    if told is None:
        return None
    return Reading(told["start"], told["epoch"], tuple((first, end) for first, end in told["ranges"]))
