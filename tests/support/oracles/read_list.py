"""Read lists by brute force over the records of two logs, one by one, and what their texts say.

Nothing here is shared with ``offset_sync.translate``, so that a mistake there is not repeated here. X is the source, Y
the target.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Collection, Iterable, Sequence

from oracles.status import Identity, identity
from oracles.translation import Case

CLUSTER = "QvTfl6mHQ1y2Z5kYw7nUWg"


def on_the_list(case: Case, committed: int, start: int) -> list[int]:
    """Return the offsets of Y, from *start* on, of which X's index tells that a group with this commit has read them.

    X's own numbers tell it without an index.
    """
    read = {identity(each) for each in case.source_records if each.offset < committed}
    wanted = [each for each in case.target.indexed if each.offset >= start and not each.is_malformed]
    return [
        each.offset
        for each in wanted
        if identity(each) in read or (each.origin == case.source_cluster and each.origin_offset < committed)
    ]


def missing_at_target(case: Case, committed: int, target_cluster: str) -> dict[str, int]:
    """Return how many records below the commit Y's index has yet to get, by origin; "": X's index has not read them.

    Not those that Y has produced and lost, nor those that the mirror has passed long enough ago.
    """
    there = {identity(each) for each in case.target.indexed}
    first: dict[Identity, int] = {}
    for each in case.source_records:
        if not each.is_malformed:
            first.setdefault((each.origin, each.origin_offset), each.offset)
    found: dict[str, int] = {}
    for (origin, number), offset in first.items():
        if offset >= committed or (origin, number) in there:
            continue
        if origin == target_cluster:
            may_come = number >= case.target.frontier
        else:
            later = [each for each in case.target.indexed if each.origin == origin and each.origin_offset > number]
            may_come = not later or later[0].indexed_at_ms > case.now_ms - case.hole_grace_ms
        if may_come:
            found[origin] = found.get(origin, 0) + 1
    if committed > case.source_frontier:
        found[""] = committed - case.source_frontier
    return found


def ranges_of(read: Iterable[int], records: Collection[int]) -> list[tuple[int, int]]:
    """Return the fewest ranges ``[start, end)`` that hold the *read* offsets and none of the other *records*."""
    found: list[tuple[int, int]] = []
    last, taken = -2, set(read)
    for offset in sorted(records):
        if offset in taken:
            found = [*found[:-1], (found[-1][0], offset + 1)] if last in taken else [*found, (offset, offset + 1)]
        last = offset
    return found


def offsets_in(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {offset for start, end in ranges for offset in range(start, end)}


def text_of(start: int, epoch: int, ranges: Sequence[tuple[int, int]], kind: str = "r") -> str:
    """Return the text of a list that fits, written number by number."""
    content, at = b"", start
    for begin, end in ranges:
        content += leb128(begin - at) + leb128(end - begin)
        at = end
    return framed(f"{start} {epoch}", content, kind)


def framed(head: str, content: bytes, kind: str = "r") -> str:
    """Return the text that has *content* as its numbers, whatever these are."""
    if kind == "z":
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        content = packer.compress(content) + packer.flush()
    return f"offset-sync/1 {CLUSTER} {head} {kind}{base64.urlsafe_b64encode(content).decode().rstrip('=')}\0"


def leb128(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number % 128 + 128)
        number //= 128
    return bytes([*found, number])
