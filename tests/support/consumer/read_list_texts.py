"""Texts of read lists: written by a writer of the tests' own, and read by Offset Sync's reader for comparison.

``golden/read_lists.json`` holds texts and what they mean, null where a text is no list.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offset_sync.translate.read_list import decode_read_list

CORPUS = Path(__file__).resolve().parents[2] / "golden" / "read_lists.json"
CLUSTER = "kFjq2Lr7TwOeZq9c8v1DJA"
Ranges = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Reading:
    """What a text says; *ranges* are half-open."""

    start: int
    epoch: int
    ranges: tuple[tuple[int, int], ...]
    cluster_id: str = CLUSTER


def corpus() -> dict[str, tuple[str, Reading | None]]:
    """Return the text and the meaning of each case of the corpus."""
    cases: list[dict[str, Any]] = json.loads(CORPUS.read_text(encoding="utf-8"))["texts"]
    return {each["about"]: (each["text"], _reading(each)) for each in cases}


def _reading(told: dict[str, Any]) -> Reading | None:
    if told["ranges"] is None:
        return None
    ranges = tuple((first, end) for first, end in told["ranges"])
    return Reading(told["start"], told["leader_epoch"], ranges, told["cluster_id"])


def list_text(start: int, epoch: int, ranges: Ranges, *, deflates: bool = False, cluster_id: str = CLUSTER) -> str:
    """Return the text of a list, with the NUL at its end."""
    lengths = []
    at = start
    for first, end in ranges:
        lengths += [first - at, end - first]
        at = end
    return f"offset-sync/1 {cluster_id} {start} {epoch} {body(leb128(lengths), deflates=deflates)}\0"


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
    """Return what *text* says to Offset Sync, None where it is no list."""
    decoded = decode_read_list(text)
    if decoded is None:
        return None
    start, epoch, found = decoded.read_list
    ends = found.start + found.length
    ranges = tuple(zip(found.start.tolist(), ends.tolist(), strict=True))
    return Reading(start, epoch, ranges, decoded.cluster_id)
