"""The runs of one log: the newest in memory, older ones in pages that lie elsewhere and are read when asked for.

Of a page that was let go only its directory entry stays: where it lies, and how far each origin's offsets reach in it
(``stretches``). Without a reader all runs stay in memory.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.growable_array import GrowingArray
from offset_sync.translate.index.runs import Int64s, Runs
from offset_sync.translate.index.stretches import Stretches, in_a_row

_NOTHING = Runs.of([], [], [], [], [])


class PageReader(Protocol):
    """Who has the pages of one log."""

    def read(self, first: int, end: int) -> Runs:
        """Return the runs of the page ``[first, end)``, as they were when it was let go."""


class PagedRuns:
    """Runs by ascending offset; those from :attr:`tail_begin` on are in memory."""

    def __init__(self, begin: int) -> None:
        self._columns = tuple(GrowingArray() for _ in range(5))
        self._begin = self.tail_begin = begin
        self.pages = Stretches.of(_NOTHING, begin, begin)
        self._reader: PageReader | None = None
        self._tail_stretch: tuple[int, Stretches] | None = None

    @property
    def tail(self) -> Runs:
        """The runs in memory; neighbours that continue each other are joined."""
        start, length, origin, origin_start, indexed_at_ms = (column.values for column in self._columns)
        return Runs(start, length, origin, origin_start, indexed_at_ms)  # type: ignore[arg-type]

    def append(self, fresh: Runs) -> None:
        """Add *fresh* runs, joined among themselves and above all that is here."""
        self._tail_stretch = None
        known = self.tail
        if len(known):
            last = known.take(slice(len(known) - 1, None))
            if len(last.followed_by(fresh.take(slice(0, 1))).joined()) == 1:
                self._columns[1].set_last(int(last.length[0] + fresh.length[0]))
                fresh = fresh.take(slice(1, None))
        for column, values in zip(self._columns, columns_of(fresh), strict=True):
            column.append(values)

    def let_go(self, runs: int, reader: PageReader) -> None:
        """Keep no more than a directory entry of the first *runs* in memory, which *reader* has as one page.

        At least the last run stays: what comes next may continue it.
        """
        tail = self.tail
        assert 0 < runs < len(tail)
        end = int(tail.start[runs])
        self.pages = in_a_row([self.pages, Stretches.of(tail.take(slice(0, runs)), self.tail_begin, end)])
        self._reader, self._tail_stretch, self.tail_begin = reader, None, end
        for column, values in zip(self._columns, columns_of(tail.take(slice(runs, None))), strict=True):
            column.replace(values.copy())

    def page(self, number: int) -> Runs:
        """Return the runs of a page."""
        assert self._reader is not None
        return self._reader.read(int(self.pages.start[number]), int(self.pages.end[number]))

    def from_offset(self, offset: int) -> Runs:
        """Return what lies at or above *offset*; a run across it is cut. Reads every page from there on."""
        if offset >= self.tail_begin or len(self.pages) == 0:
            return self.tail.from_offset(offset)
        first = int(self.pages.below(np.array([offset], np.int64))[0])
        runs = self.page(first).from_offset(offset) if first < len(self.pages) else _NOTHING
        for number in range(first + 1, len(self.pages)):
            runs = runs.followed_by(self.page(number))
        return runs.followed_by(self.tail)

    def around(self, offset: int) -> Runs:
        """Return what lies at or above *offset*, and the whole run that holds it."""
        if offset < self.tail_begin:
            return self.from_offset(self._begin)
        return self.tail

    def stretches(self, frontier: int) -> Stretches:
        """Return the pages, and what is in memory up to *frontier* as one stretch more."""
        if self._tail_stretch is None or self._tail_stretch[0] != frontier:
            self._tail_stretch = frontier, Stretches.of(self.tail, self.tail_begin, frontier)
        parts = [each for each in (self.pages, self._tail_stretch[1]) if len(each)]
        return in_a_row(parts) if parts else self.pages


def columns_of(runs: Runs) -> tuple[NDArray[Any], ...]:
    """Return the columns of *runs*, in their order."""
    return runs.start, runs.length, runs.origin, runs.origin_start, runs.indexed_at_ms


def meets(stretches: Stretches, origin: int, low: int, high: int) -> Int64s:
    """Return which stretches may say where records ``[low, high)`` of *origin* stand, or what is next above them.

    Those that have any of them; and the first that has one above, for the lowest of these tells what a gap counts as.
    """
    span = stretches.span(origin)
    is_met = (span.low < high) & (span.high >= low)
    above = np.flatnonzero(span.high >= high)
    is_met[above[:1]] = True
    found: Int64s = np.flatnonzero(is_met)
    return found
