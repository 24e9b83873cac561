"""The pages of the record index: stretches of its logs in sealed files, read on demand."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.model.values import ClusterPartition
from offset_sync.state.index_rows import NO_ROWS, IndexRows, RowReader, joined, with_gaps
from offset_sync.state.sealed_parts import SealedParts
from offset_sync.tables.segments import Segments
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Runs

_RUN_BYTES = 40
_CACHE_SHARE = 0.25
_GROUPS = 4
"""How many row groups are cached: those of many small logs are read one after the other."""


class PageCache:
    """Recently read pages, in a share of *memory_bytes* (None: all of them); threads may share it."""

    def __init__(self, memory_bytes: int | None = None) -> None:
        self._most_runs = 1 << 62 if memory_bytes is None else int(memory_bytes * _CACHE_SHARE / _RUN_BYTES)
        self._runs = 0
        self._pages: OrderedDict[tuple[object, int], Runs] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, owner: object, number: int, read: Callable[[], Runs]) -> Runs:
        """Return page *number* of *owner*; *read* is called where it is not cached."""
        with self._lock:
            if (known := self._pages.get((owner, number))) is not None:
                self._pages.move_to_end((owner, number))
                return known
        page = read()
        with self._lock:
            if (owner, number) not in self._pages:
                self._pages[owner, number], self._runs = page, self._runs + len(page)
            while self._runs > self._most_runs and len(self._pages) > 1:
                self._runs -= len(self._pages.popitem(last=False)[1])
        return page


class PartReader:
    """Reads the rows of parts; the directory is trusted, as Kafka trusts its index: it has a checksum."""

    def __init__(self, segments: Segments, rows: RowReader, schema: pa.Schema) -> None:
        self.rows, self._segments, self._schema = rows, segments, schema
        self._groups: OrderedDict[tuple[str, int], IndexRows] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, parts: SealedParts, part: int) -> IndexRows:
        """Return the rows of a part, in order."""
        names = ("file", "group", "first_row", "rows")
        file, group, first, count = (int(parts.columns[name][part]) for name in names)
        return self._group(parts.paths[file], group).take(slice(first, first + count)).in_order()

    def _group(self, path: str, group: int) -> IndexRows:
        with self._lock:
            if (known := self._groups.get((path, group))) is not None:
                self._groups.move_to_end((path, group))
                return known
        found = self.rows.read(self._segments.read(path, group, self._schema))
        with self._lock:
            self._groups[path, group] = found
            if len(self._groups) > _GROUPS:
                self._groups.popitem(last=False)
        return found


class Source(NamedTuple):
    """Where the rows of a log are read."""

    place: ClusterPartition
    reader: PartReader
    parts: SealedParts


@dataclass(frozen=True)
class Page:
    """The rows of sealed parts of these *numbers*, and unsealed *rows*, from offset *low* to below *high*.

    All below *begin* was known before.
    """

    source: Source
    numbers: Sequence[int]
    begin: int = 0
    rows: IndexRows = NO_ROWS
    low: int = 0
    high: int = NO_LIMIT

    def all_rows(self) -> IndexRows:
        """Return its rows, in order."""
        found = [self.source.reader.read(self.source.parts, part) for part in self.numbers]
        rows = joined([*found, self.rows])
        return rows.take((rows.start >= self.low) & (rows.start < self.high)).in_order()

    def runs(self) -> Runs:
        """Return its runs."""
        return runs_above(self.all_rows(), self.begin)


def whole_parts(source: Source, parts: range) -> list[Page]:
    """Return the pages of consecutive *parts*: one of each with runs."""
    filled, start = np.flatnonzero(source.parts.column("runs", parts) > 0), source.parts.column("start", parts)
    return [Page(source, (parts[number],), int(start[number])) for number in filled.tolist()]


class LogPages:
    """The pages of one log; they never change, and are only added."""

    def __init__(self, cache: PageCache) -> None:
        self._cache, self._pages = cache, list[Page]()

    def add(self, pages: Iterable[Page]) -> None:
        """Add the next *pages*."""
        self._pages += pages

    def read(self, number: int) -> Runs:
        """Return the runs of a page."""
        return self._cache.get(self, number, self._pages[number].runs)


def runs_above(rows: IndexRows, begin: int) -> Runs:
    """Return the runs that *rows*, which are in order, add to a log of which all below *begin* is known."""
    log, runs = LogIndex(begin), rows.runs
    if len(runs):
        log.extend(with_gaps(runs, begin), int(runs.end.max()))
    return log.runs


def let_go(log: LogIndex, source: Source, parts: range, cache: PageCache) -> bool:
    """Keep of the runs that were just sealed, in *parts*, only the directory; return False where that cannot be."""
    if not _continue(log, source, parts):
        return False
    known = source.parts.known(parts, log.paged.tail_begin)
    if len(known.pages):
        store = log.paged.store if isinstance(log.paged.store, LogPages) else LogPages(cache)
        store.add(whole_parts(source, parts))
        log.let_go(known.pages, known.runs, store)
    return True


def _continue(log: LogIndex, source: Source, parts: range) -> bool:
    """Return whether *parts* begin where the pages of *log* end, and a page of them alone has all that is there."""
    column = source.parts.column
    start, end = column("start", parts), column("end", parts)
    reach = np.concatenate(([log.paged.tail_begin], end[:-1]))
    is_missing = (start > reach) & (column("begins", parts) > 0)
    is_apart = bool((start >= reach).all() and end[-1] <= log.frontier)
    return is_apart and not is_missing.any() and bool(column("plain", parts).all())
