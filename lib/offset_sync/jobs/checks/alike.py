"""Copies without headers beside originals of about the same time: which is of which, and what copies keep. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from offset_sync.kafka.tail_reader import TailRecord

_Content = tuple[bytes | None, bytes | None]


class Match(NamedTuple):
    """A copy and the only original with its key and value, or with these and its time."""

    copy: TailRecord
    original: TailRecord

    @property
    def keeps_time(self) -> bool:
        """Whether the copy has the time of its original."""
        return self.copy.content.timestamp_ms == self.original.content.timestamp_ms

    @property
    def keeps_headers(self) -> bool:
        """Whether the copy has the headers of its original, and no others."""
        return self.copy.content.headers == self.original.content.headers

    @property
    def added(self) -> set[str]:
        """Names of headers that the copy has and its original lacks."""
        return {name for name, _ in self.copy.content.headers} - {name for name, _ in self.original.content.headers}


@dataclass(frozen=True)
class Alike:
    """What was found of one log of copies; *aliens* stand between matches and have no original among those around.

    *are_alike*: copies have originals with their contents, but each of them several.
    """

    copies: int
    originals: int
    matches: Sequence[Match]
    aliens: Sequence[TailRecord]
    are_alike: bool

    @property
    def disordered(self) -> Iterator[Match]:
        """Yield the copies that come behind one of a later original, and for the first time.

        A mirror that goes back sends what it has sent before. What it sent before the first copy here nobody can tell,
        so it errs to in order.
        """
        seen: set[int] = set()
        latest = first = -1
        for each in self.matches:
            offset = each.original.content.offset
            first = offset if first < 0 else first
            if first < offset < latest and offset not in seen:
                yield each
            latest = max(latest, offset)
            seen.add(offset)


def compared(copies: Sequence[TailRecord], originals: Sequence[TailRecord]) -> Alike:
    """Return which of *copies* are of which of *originals*, both of one log each and in its order.

    Only what is certain: an original with the same key and value that has no other one like it, or whose time alone is
    the copy's.
    """
    by_content: dict[_Content, list[TailRecord]] = defaultdict(list)
    for each in originals:
        by_content[each.content.key, each.content.value].append(each)
    matches, rows, is_any = list[Match](), list[int](), False
    for row, copy in enumerate(copies):
        found = by_content.get((copy.content.key, copy.content.value), [])
        is_any = is_any or bool(found)
        if len(found) > 1:
            found = [each for each in found if each.content.timestamp_ms == copy.content.timestamp_ms]
        if len(found) == 1:
            matches.append(Match(copy, found[0]))
            rows.append(row)
    aliens = [
        each
        for number, (row, end) in enumerate(pairwise(rows))
        # Where the mirror goes back it may send what is older than all originals around.
        if matches[number].original.content.offset < matches[number + 1].original.content.offset
        for each in copies[row:end]
        if (each.content.key, each.content.value) not in by_content
    ]
    return Alike(len(copies), len(originals), matches, aliens, is_any and not matches)


def added_headers(matches: Sequence[Match]) -> list[str]:
    """Return the names of headers that most copies have and their originals lack."""
    counted = Counter(name for each in matches for name in each.added)
    return sorted(name for name, count in counted.items() if 2 * count > len(matches))
