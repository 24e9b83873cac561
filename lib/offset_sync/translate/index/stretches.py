"""The runs of one log: the newest in memory, older ones in pages that are read on demand.

Only a page's directory entry is in memory: where it begins, and how far each origin's offsets reach in it. A run may
end with a page and continue in the next. What is in memory has a summary too. That is enough to decide for most such
stretches of a log that a group has read all of them, or nothing::

    log of Y     | o1 .. o90 |  o91 .. o140 p7 .. p20 |  o141 .. o200 |
    of origin o       1 to 90        91 to 140           141 to 200         a group that has read o up to 100 has read
    of origin p         -              7 to 20               -              all, some, nothing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import Columns, GrowingArray, shallow
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s, Runs, distinct_origins, members, records_below

NONE_LOW, NONE_HIGH = NO_LIMIT, -1
"""Lowest and highest origin offset of what is not there."""
_LENGTH = 1
"""The only column in which a value changes: the last run grows."""


class OriginSpans(NamedTuple):
    """Lowest and highest offset of one origin in each stretch, and how many records it has there; shapes (stretches,).

    ``NONE_LOW`` and ``NONE_HIGH`` where it has none.
    """

    low: Int64s
    high: Int64s
    records: Int64s

    @classmethod
    def absent(cls, stretches: int) -> OriginSpans:
        """Return those of an origin that has no record in any."""
        low, high, records = (np.full(stretches, value, np.int64) for value in (NONE_LOW, NONE_HIGH, 0))
        return cls(low, high, records)


@dataclass(frozen=True)
class Stretches(Columns):
    """Neighbouring stretches ``[start, end)`` of a log by ascending offset, none of them without a run.

    *first_record* is the offset of each one's first record, *seen_ms* when its newest run was indexed; shapes
    (stretches,). *spans* are by code of an origin.
    """

    start: Int64s
    end: Int64s
    first_record: Int64s
    records: Int64s
    seen_ms: Int64s
    spans: Mapping[int, OriginSpans] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, runs: Runs, start: int, end: int) -> Stretches:
        """Return the one stretch ``[start, end)``, whose *runs* are these; none where there are none."""
        if len(runs) == 0:
            return NO_PAGES
        spans = {}
        for origin in distinct_origins(runs.origin):
            mine = runs.origin == origin
            low, length = runs.origin_start[mine], runs.length[mine]
            spans[origin] = OriginSpans(_one(low.min()), _one((low + length).max() - 1), _one(length.sum()))
        numbers = (start, end, runs.start[0], runs.length.sum(), runs.indexed_at_ms.max())
        return cls(*map(_one, numbers), spans=spans)

    def span(self, origin: int) -> OriginSpans:
        """Return the range of *origin*'s offsets in each stretch."""
        return self.spans.get(origin) or OriginSpans.absent(len(self))

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Stretches:
        """Return the chosen stretches."""
        spans = {origin: OriginSpans(*(column[rows] for column in each)) for origin, each in self.spans.items()}
        return replace(super().take(rows), spans=spans)

    def ended_by(self, offset: int) -> int:
        """Return how many stretches end at or below *offset*."""
        return int(self.end.searchsorted(offset, "right"))


NO_PAGES = Stretches.none()


def in_a_row(parts: Sequence[Stretches]) -> Stretches:
    """Return the stretches of all *parts*, which follow each other."""
    if len(parts) == 1:
        return parts[0]
    spans = {}
    for origin in dict.fromkeys(origin for part in parts for origin in part.spans):
        of_origin = zip(*(part.span(origin) for part in parts), strict=True)
        spans[origin] = OriginSpans(*map(np.concatenate, of_origin))
    return replace(NO_PAGES.followed_by(*parts), spans=spans)


def _one(number: Any) -> Int64s:
    return np.array([number], np.int64)


def cut_at(
    start: Int64s, end: Int64s, cut_start: Int64s, cut_end: Int64s
) -> tuple[NDArray[np.intp], NDArray[np.intp], Int64s, Int64s]:
    """Cut each ``[start, end)`` at segments ``[cut_start, cut_end)``, disjoint and ascending; shapes differ.

    Segments and the gaps between them alternate: interval ``2j`` is the gap before segment j, ``2j + 1`` the segment
    itself, and the last one the rest behind all of them. Returns, of each part, the number of its range and of its
    interval, and its own start and length, which is more than 0.
    """
    low = np.empty(2 * len(cut_start) + 1, np.int64)
    low[0], low[1::2], low[2::2] = -NO_LIMIT, cut_start, cut_end
    first = low.searchsorted(start, "right") - 1
    row, interval = members(first, low.searchsorted(end, "left") - first)
    begin: Int64s = np.maximum(low[interval], start[row])
    high = np.append(low[1:], NO_LIMIT)
    length = np.minimum(high[interval], end[row]) - begin
    if not (kept := length > 0).all():
        row, interval, begin, length = row[kept], interval[kept], begin[kept], length[kept]
    return row, interval, begin, length


class PageStore(Protocol):
    """Has the pages of one log, by their numbers; pages are added and never change."""

    def read(self, number: int) -> Runs:
        """Return the runs of a page; raises OSError where they cannot be read."""


class PagedRuns:
    """Runs by ascending offset; those from :attr:`tail_begin` on are in memory."""

    def __init__(self, begin: int) -> None:
        self._columns = tuple(GrowingArray() for _ in range(5))
        self._tail: Runs | None = None
        self.tail_begin = begin
        self.pages = NO_PAGES
        self.store: PageStore | None = None
        self.paged_runs = 0
        self._stretches: tuple[int, Stretches] | None = None

    @property
    def tail(self) -> Runs:
        """The runs in memory; neighbours that continue each other are joined."""
        if self._tail is None:
            self._tail = Runs(*(column.values for column in self._columns))  # type: ignore[arg-type]
        return self._tail

    def view(self) -> PagedRuns:
        """Return a snapshot; pages never change. Nothing is added to a view."""
        found = shallow(self)
        found._tail, found._columns = self.tail, ()
        if self._columns:  # else it is a view itself
            self._columns[_LENGTH].shared()
        return found

    def below(self, offset: int) -> PagedRuns:
        """Return a view of the runs below *offset*; the page across it is read and cut."""
        found, number = self.view(), len(self.pages)
        found._stretches = None
        if number and offset < self.tail_begin:
            number = self.pages.ended_by(offset)
            found.pages, found.tail_begin = self.pages.take(slice(0, number)), int(self.pages.start[number])
        found._tail = self.part(number).below(offset)
        return found

    def adopt(self, view: PagedRuns) -> None:
        """Keep the stretches of a *view* that has the same runs in memory."""
        if self._stretches is None:
            self._stretches = view._stretches  # of as many runs as there were up to its frontier

    def append(self, fresh: Runs) -> None:
        """Add *fresh* runs, joined among themselves and above all that is here."""
        known, self._tail, self._stretches = self.tail, None, None
        if len(known) and fresh.continues(known):
            self._columns[_LENGTH].set_last(int(known.length[-1] + fresh.length[0]))
            fresh = fresh.take(slice(1, None))
        for column, values in zip(self._columns, fresh.columns, strict=True):
            column.append(values)

    def let_go(self, pages: Stretches, runs: int, store: PageStore) -> None:
        """Replace the oldest runs in memory by the directory of *pages*, of so many *runs*, which *store* has."""
        end = int(pages.end[-1])
        self._columns = tuple(GrowingArray.of(column.copy()) for column in self.tail.from_offset(end).columns)
        self._tail = self._stretches = None
        self.pages, self.paged_runs = in_a_row([self.pages, pages]), self.paged_runs + runs
        self.tail_begin, self.store = end, store

    def page(self, number: int) -> Runs:
        """Return the runs of a page."""
        assert self.store is not None
        return self.store.read(number)

    def from_offset(self, offset: int) -> Runs:
        """Return the runs at or above *offset*; a run across it is cut. Reads every page from there on."""
        if offset >= self.tail_begin or len(self.pages) == 0:
            return self.tail.from_offset(offset)
        first = self.pages.ended_by(offset)
        pages = [self.page(number) for number in range(first, len(self.pages))]
        return in_log_order([*pages, self.tail]).from_offset(offset)

    def part(self, number: int) -> Runs:
        """Return the runs of a page, or of what is in memory, which comes after the pages."""
        return self.page(number) if number < len(self.pages) else self.tail

    def parts(self, low: int, high: int) -> Iterator[Runs]:
        """Yield the runs that reach above *low* and begin below *high*, page by page; one across *low* is cut."""
        first, last = self.pages.ended_by(low), self.pages.ended_by(high - 1)
        for number in range(first, last + 1):
            runs = self.part(number).from_offset(low)
            yield runs.take(slice(0, int(np.searchsorted(runs.start, high, "left"))))

    def near(self, first: int, last: int) -> Runs:
        """Return the runs that hold *first* to *last*, and at least one more behind."""
        if len(self.pages) == 0:
            return self.tail
        low, high = self.pages.ended_by(first), self.pages.ended_by(last + 1)
        parts = [self.page(number) for number in range(low, min(high + 1, len(self.pages)))]
        parts += [self.tail] if high + 1 >= len(self.pages) else [self.page(high + 1).take(slice(0, 1))]
        return in_log_order(parts)

    def stretches(self, frontier: int) -> Stretches:
        """Return the pages, and what is in memory up to *frontier* as one stretch more."""
        if self._stretches is None or self._stretches[0] != frontier:
            of_tail = Stretches.of(self.tail, self.tail_begin, frontier)
            parts = [each for each in (self.pages, of_tail) if len(each)]
            self._stretches = frontier, in_a_row(parts)
        return self._stretches[1]

    def records_from(self, offset: Int64s, frontier: int) -> Int64s:
        """Return how many records are at or above each offset, shape (offsets,), of a log known to *frontier*.

        Reads only the pages that contain the offsets.
        """
        known = self.stretches(frontier)
        below = np.concatenate(([0], np.cumsum(known.records)))
        number = known.end.searchsorted(offset, "right")
        found: Int64s = below[-1] - below[number]
        for each in np.unique(number[number < len(known)]).tolist():
            rows, runs = number == each, self.part(each)
            found[rows] -= records_below(runs.start, runs.length, offset[rows])
        return found

    def records_by_origin(self, offset: int, frontier: int) -> dict[int, int]:
        """Return how many records of each origin are at or above *offset*, of those that have any there."""
        known = self.stretches(frontier)
        first = known.ended_by(offset)
        if first == len(known):
            return {}
        runs = self.part(first).from_offset(offset)
        found = {}
        for origin in sorted(known.spans):
            count = int(known.span(origin).records[first + 1 :].sum() + runs.length[runs.origin == origin].sum())
            if count:
                found[origin] = count
        return found


def in_log_order(parts: Sequence[Runs]) -> Runs:
    """Return the runs of all *parts*, which follow each other, joined: a run may continue in the next page."""
    return parts[0] if len(parts) == 1 else parts[0].followed_by(*parts[1:]).joined()


def meets(stretches: Stretches, origin: int, low: int, high: int) -> Int64s:
    """Return which stretches may hold records ``[low, high)`` of *origin*, or the next one above them.

    Those that have any of them, and the first that has one above: its lowest is what a gap counts as.
    """
    if origin not in stretches.spans:
        return np.empty(0, np.int64)
    span = stretches.span(origin)
    is_met = (span.low < high) & (span.high >= low)
    above = (span.high >= high).nonzero()[0]
    is_met[above[:1]] = True
    found: Int64s = is_met.nonzero()[0]
    return found
