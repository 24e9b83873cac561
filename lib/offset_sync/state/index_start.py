"""The logs of the index from the table's files: from directories of sealed files, and from all rows of the others.

A part becomes a page unread. Where its directory is not enough, parts are read, a few at a time, and become pages too:
with timestamps, where a cut has taken copies, where parts overlap (a log that was indexed again), and after a gap.
Memory holds what comes after the last sealed part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from offset_sync.state.index_logs import IndexLogs
from offset_sync.state.index_pages import LogPages, Page, PageCache, PartReader, Source, whole_parts
from offset_sync.state.index_rows import NO_ROWS, IndexRows
from offset_sync.state.sealed_parts import SealedParts
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.stretches import Stretches

_NEVER = NO_LIMIT


@dataclass(frozen=True)
class IndexStart:
    """What the table has: sealed *parts*, and unsealed *rows*, by log and offset."""

    reader: PartReader
    cache: PageCache
    parts: SealedParts
    rows: IndexRows

    @property
    def newest_ms(self) -> int | None:
        """When the newest row was indexed; None: there is none."""
        times = [each for each in (self.parts.columns["newest_ms"], self.rows.seen_ms) if len(each)]
        return max((int(each.max()) for each in times), default=None)

    def take_in(self, found: IndexLogs, number: int) -> None:
        """Take the log of this number into *found*, which does not have it yet."""
        place, parts = self.reader.rows.logs[number], self.parts.of_log(number)
        first, end = np.searchsorted(self.rows.log, [number, number + 1]).tolist()
        rows = self.rows.take(slice(first, end))
        if len(parts) or len(rows):
            source = Source(place, self.reader, self.parts)
            _LogStart(source, found, LogPages(self.cache), parts, rows).take_in()


@dataclass
class _LogStart:
    """One log; *rows* are the unsealed ones."""

    source: Source
    found: IndexLogs
    pages: LogPages
    parts: range
    rows: IndexRows

    def take_in(self) -> None:
        """Take in all parts, and then the rows after them."""
        for is_plain, group in groupby(enumerate(self._are_plain().tolist()), lambda each: each[1]):
            numbers = [number for number, _ in group]
            parts = range(self.parts.start + numbers[0], self.parts.start + numbers[-1] + 1)
            if is_plain:
                self._append(parts)
                continue
            for page in self._mixed(parts):
                self._read(page)
        self._take(self._rows(to_sealed=False))

    def _rows(self, *, to_sealed: bool) -> IndexRows:
        """Return the unsealed rows: those among the parts, or those after them."""
        sealed_to = int(self.source.parts.column("end", self.parts).max(initial=-1))
        late = int(np.searchsorted(self.rows.start, sealed_to))
        return self.rows.take(slice(0, late) if to_sealed else slice(late, None))

    def _are_plain(self) -> NDArray[np.bool_]:
        """Return which parts can become pages unread, shape (parts,)."""
        source, column = self.source, self.source.parts.column
        start, end = column("start", self.parts), column("end", self.parts)
        if self.found.is_timed(source.place.topic):
            return np.zeros(len(start), np.bool_)
        highest = np.maximum.accumulate(end)
        reach = np.concatenate((start[:1], highest[:-1]))
        # Rows at one offset are ordered by when they were seen: only parts that end where this one starts have others.
        _, step = np.unique(highest, return_inverse=True)
        newest_ms = np.full(len(start), -1)
        np.maximum.at(newest_ms, step, np.where(end == highest, column("newest_ms", self.parts), -1))
        newest_ms = np.concatenate(([-1], newest_ms[step]))[:-1]
        is_apart = (start > reach) | ((start == reach) & (column("oldest_ms", self.parts) >= newest_ms))
        is_next_apart = np.append(is_apart[1:], True)
        is_missing = (column("begins", self.parts) > 0) & (start > reach)
        is_across = end > int(self.rows.start[0]) if len(self.rows) else np.zeros(len(start), np.bool_)
        found: NDArray[np.bool_] = (
            is_apart & is_next_apart & ~is_missing & (column("plain", self.parts) > 0) & ~is_across
        )
        return found

    def _log(self, first: int) -> LogIndex:
        return self.found.logs.get(self.source.place) or self.found.begin(self.source.place, first)

    def _append(self, parts: range) -> None:
        """Append *parts* as pages, unread."""
        table = self.source.parts
        log = self._log(int(table.column("start", parts)[0]))
        known = table.known(parts, log.frontier)
        if len(known.pages):
            self.pages.add(whole_parts(self.source, parts))
        log.append_pages(known, int(table.column("end", parts)[-1]), self.pages)

    def _mixed(self, parts: range) -> Iterator[Page]:
        """Yield pages of *parts* that have to be read: rows from where one part begins to where the next does."""
        if not len(parts):
            return
        table = self.source.parts
        start, end = table.column("start", parts), table.column("end", parts)
        low, rows = np.unique(start), self._rows(to_sealed=True)
        low[0] = min(low[0], int(rows.start.min(initial=_NEVER)))
        for first, above in zip(low.tolist(), [*low[1:].tolist(), _NEVER], strict=True):
            numbers = [parts[number] for number in np.flatnonzero((start < above) & (end >= first)).tolist()]
            mine = rows.take((rows.start >= first) & (rows.start < above)) if parts.stop == self.parts.stop else NO_ROWS
            yield Page(self.source, numbers, 0, mine, first, above)

    def _read(self, page: Page) -> None:
        """Take in the rows of a page, and keep only its directory."""
        before = self.found.logs.get(self.source.place)
        known_to = None if before is None else before.frontier
        self._take(rows := page.all_rows())
        log = self.found.logs.get(self.source.place)
        if log is None or not len(tail := log.paged.tail):
            return
        self.pages.add([replace(page, begin=log.begin if known_to is None else known_to)])
        known = Stretches.of(tail, log.paged.tail_begin, log.frontier)
        log.let_go(replace(known, seen_ms=np.array([rows.seen_ms.max()])), len(tail), self.pages)

    def _take(self, rows: IndexRows) -> None:
        if len(rows):
            self.found.take_in(self.source.place, rows)
