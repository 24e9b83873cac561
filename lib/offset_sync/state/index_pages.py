"""The pages of the record index: stretches of its logs in sealed files, read on demand."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.model.values import ClusterPartition
from offset_sync.state.index_rows import NO_ROWS, IndexRows, RowReader, with_gaps
from offset_sync.state.sealed_parts import SealedParts
from offset_sync.tables.segments import Segments
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Runs

_RUN_BYTES = 40
_CACHE_SHARE = 0.25


class PageCache:
    """Recently read pages, in a share of *memory_bytes* (None: all of them); threads may share it."""

    def __init__(self, memory_bytes: int | None = None) -> None:
        self._most_runs = 1 << 62 if memory_bytes is None else int(memory_bytes * _CACHE_SHARE / _RUN_BYTES)
        self._runs = 0
        self._pages: OrderedDict[Hashable, Runs] = OrderedDict()
        self._lock = threading.Lock()

    def runs(self, page: Page) -> Runs:
        """Return the runs of a page, which is read where it is not cached."""
        key = page.key
        with self._lock:
            if (known := self._pages.get(key)) is not None:
                self._pages.move_to_end(key)
                return known
        found = page.runs()
        with self._lock:
            if key not in self._pages:
                self._pages[key], self._runs = found, self._runs + len(found)
            while self._runs > self._most_runs and len(self._pages) > 1:
                self._runs -= len(self._pages.popitem(last=False)[1])
        return found


class PartReader:
    """Reads the rows of parts; the directory is trusted, as Kafka trusts its index: it has a checksum."""

    def __init__(self, segments: Segments, rows: RowReader, schema: pa.Schema) -> None:
        self.rows, self._segments, self._schema = rows, segments, schema

    def read(self, parts: SealedParts, part: int) -> IndexRows:
        """Return the rows of a part, in order."""
        path, group, first = parts.place(part)
        found = self.rows.read(self._segments.read(path, group, self._schema))
        return found.take(slice(first, first + int(parts.columns["rows"][part]))).in_order()


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

    @property
    def key(self) -> Hashable:
        """What tells its runs, also when the table is read again."""
        places = [self.source.parts.place(part) for part in self.numbers]
        return *places, self.begin, self.low, self.high, self.rows

    def all_rows(self) -> IndexRows:
        """Return its rows, in order."""
        rows = self.rows.followed_by(*(self.source.reader.read(self.source.parts, part) for part in self.numbers))
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
        return self._cache.runs(self._pages[number])


def runs_above(rows: IndexRows, begin: int) -> Runs:
    """Return the runs that *rows*, which are in order, add to a log of which all below *begin* is known."""
    log, runs = LogIndex(begin), rows.runs
    if len(runs):
        log.extend(with_gaps(runs, begin), int(runs.end.max()))
    return log.runs
