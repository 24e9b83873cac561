"""The pages of the record index: stretches of its logs in sealed files, read on demand."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from offset_sync.model.values import ClusterPartition
from offset_sync.state.incarnations import KnownIncarnations
from offset_sync.state.index_logs import valid_runs
from offset_sync.state.index_rows import IndexRows, RowReader, joined, with_gaps
from offset_sync.state.sealed_parts import SealedParts
from offset_sync.tables.segments import Segments
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import NO_RUNS, Runs
from offset_sync.translate.index.stretches import NO_PAGES, Stretches, in_a_row

_RUN_BYTES = 40
_CACHE_SHARE = 0.25
_GROUPS = 4
"""How many row groups are cached: those of many small logs are read one after the other."""


class MisstatedError(Exception):
    """A sealed file holds other rows than its directory says."""


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
    """Reads the rows of parts; where they differ from the directory it distrusts the file and raises MisstatedError."""

    def __init__(self, segments: Segments, rows: RowReader, schema: pa.Schema) -> None:
        self.rows, self._segments, self._schema = rows, segments, schema
        self._groups: OrderedDict[tuple[str, int], IndexRows] = OrderedDict()
        self._lock = threading.Lock()
        self.is_misstated = False

    def read(self, parts: SealedParts, part: int) -> IndexRows:
        """Return the rows of a part, in order."""
        names = ("file", "group", "first_row", "rows", "log", "start", "end")
        file, group, first, count, log, start, end = (int(parts.columns[name][part]) for name in names)
        found = self._group(parts.paths[file], group).take(slice(first, first + count))
        if len(found) != count or not (found.log == log).all() or found.extent != (start, end):
            self.distrust(parts, part)
        return found.in_order()

    def distrust(self, parts: SealedParts, part: int) -> None:
        """Have the file of a part read like an unsealed one from now on; raises MisstatedError."""
        path = parts.paths[int(parts.columns["file"][part])]
        self._segments.distrust(path)
        self.is_misstated = True
        raise MisstatedError(f"{path} holds other rows than its directory says: it is read like an unsealed file")

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


class Block(Protocol):
    """Consecutive pages of a log."""

    def __len__(self) -> int:
        """Return the number of pages."""

    def read(self, number: int) -> Runs:
        """Return the runs of the page of this number in the block."""


class LogPages:
    """The pages of one log; pages never change, and blocks are only added."""

    def __init__(self, cache: PageCache) -> None:
        self._cache = cache
        self._blocks: list[Block] = []
        self._first: list[int] = []
        self._pages = 0

    def add(self, block: Block) -> None:
        """Add the next pages."""
        self._blocks.append(block)
        self._first.append(self._pages)
        self._pages += len(block)

    def read(self, number: int) -> Runs:
        """Return the runs of a page."""
        at = bisect_right(self._first, number) - 1
        return self._cache.get(self, number, lambda: self._blocks[at].read(number - self._first[at]))


class Source(NamedTuple):
    """How the rows of a log are read and judged: by the *incarnations* known when its pages were made."""

    place: ClusterPartition
    reader: PartReader
    parts: SealedParts
    incarnations: KnownIncarnations


@dataclass(frozen=True)
class PlainBlock:
    """Pages of one part each: *pages* is their directory, *numbers* are those of the parts."""

    source: Source
    pages: Stretches
    numbers: Sequence[int]

    def __len__(self) -> int:
        return len(self.numbers)

    def read(self, number: int) -> Runs:
        """Return the runs of a page; raises MisstatedError where the directory differs."""
        source, part, said = self.source, self.numbers[number], self.pages.take(slice(number, number + 1))
        begin = int(source.parts.columns["start"][part])
        runs = runs_above(source, source.reader.read(source.parts, part), begin)
        if not _is_said(Stretches.of(runs, int(said.start[0]), int(said.end[0])), said):
            source.reader.distrust(source.parts, part)
        return runs


@dataclass(frozen=True)
class MixedBlock:
    """One page of several parts and of unsealed *rows*, from offset *low* to below *high*.

    All below *begin* was known before, and at the *edges* there is no gap.
    """

    source: Source
    numbers: Sequence[int]
    rows: IndexRows
    low: int
    high: int
    begin: int = 0
    edges: Runs = NO_RUNS

    def __len__(self) -> int:
        return 1

    def all_rows(self) -> IndexRows:
        """Return its rows, in order."""
        found = [self.source.reader.read(self.source.parts, part) for part in self.numbers]
        rows = joined([*found, self.rows])
        return rows.take((rows.start >= self.low) & (rows.start < self.high)).in_order()

    def read(self, number: int) -> Runs:
        """Return the runs of the page."""
        return runs_above(self.source, self.all_rows(), self.begin, self.edges)


@dataclass(frozen=True)
class SealedPages:
    """The pages of one log in a file that was just sealed: *runs* of each, and their directory in *block*."""

    place: ClusterPartition
    block: PlainBlock
    runs: Sequence[Runs]

    @classmethod
    def of(cls, source: Source, parts: range) -> SealedPages:
        """Read *parts* of a log."""
        pages, numbers, runs = list[Stretches](), list[int](), list[Runs]()
        for part in parts:
            begin, end, newest_ms = (int(source.parts.columns[name][part]) for name in ("start", "end", "newest_ms"))
            found = runs_above(source, source.reader.read(source.parts, part), begin)
            if len(found):
                pages.append(replace(Stretches.of(found, begin, end), seen_ms=np.array([newest_ms])))
                numbers.append(part)
                runs.append(found)
        return cls(source.place, PlainBlock(source, in_a_row(pages) if pages else NO_PAGES, numbers), runs)

    def take_over(self, log: LogIndex, cache: PageCache) -> bool:
        """Drop from the memory of *log* the runs that are the same as a page's, and keep the page's directory.

        Pages that the log has already are skipped. Return whether all others were the same.
        """
        begin = log.paged.tail_begin
        first = end = self.block.pages.ended_by(begin)
        for runs, page_end in zip(self.runs[first:], self.block.pages.end[first:].tolist(), strict=True):
            if page_end > log.frontier or not runs.same_records(log.paged.tail.from_offset(begin).below(page_end)):
                break
            begin, end = page_end, end + 1
        if first < end:
            pages = self.block.pages.take(slice(first, end))
            pages = replace(pages, start=np.concatenate(([log.paged.tail_begin], pages.end[:-1])))
            store = log.paged.store if isinstance(log.paged.store, LogPages) else LogPages(cache)
            store.add(replace(self.block, pages=pages, numbers=self.block.numbers[first:end]))
            log.let_go(pages, sum(map(len, self.runs[first:end])), store)
        return end == len(self.runs)


def runs_above(source: Source, rows: IndexRows, begin: int, edges: Runs = NO_RUNS) -> Runs:
    """Return the runs that *rows*, which are in order, add to a log of which all below *begin* is known."""
    _, runs = valid_runs(source.place, rows, source.incarnations, edges)
    log = LogIndex(begin)
    if len(runs):
        log.extend(with_gaps(runs, begin), int(runs.end.max()))
    return log.runs


def _is_said(found: Stretches, said: Stretches) -> bool:
    """Return whether a page as *found* is as the directory *said*, which may give a later time."""
    if len(found) != 1:
        return False
    numbers = zip(found.columns[:4] + found.columns[5:], said.columns[:4] + said.columns[5:], strict=True)
    origins = {origin for origin, span in said.spans.items() if span.records[0]}
    return (
        all(int(mine[0]) == int(other[0]) for mine, other in numbers)
        and origins == found.spans.keys()
        and all(
            int(mine[0]) == int(other[0])
            for origin in origins
            for mine, other in zip(found.span(origin), said.span(origin), strict=True)
        )
        and bool(np.all(found.seen_ms <= said.seen_ms))
    )
