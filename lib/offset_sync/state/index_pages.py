"""How much of the record index is in memory: the newest runs of each log, and pages that were asked for lately.

Older runs lie in a spill file, in pages of some thousand, and of some hundred where there are many logs. A log that
has many runs gives more than one that has few, so that all of them together keep within what they may take.
"""

from __future__ import annotations

import errno
import logging
import sys
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable

import numpy as np

from offset_sync.state.spill_file import Extent, SpillFile
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.paged_runs import columns_of
from offset_sync.translate.index.runs import Int64s, Runs

logger = logging.getLogger(__name__)
PAGE_RUNS, _LEAST_PAGE_RUNS = 1 << 12, 256
"""A page has what its log gives at a time, at most so many runs, for all of it is read for one answer that lies deep.

Of fewer than the least it would take more room in the directory than in memory.
"""
_RUN_BYTES = 180
"""Of a run in memory: its columns, where the other side's records stand, and room to grow (``benchmarks/tried.md``)."""
_PAGE_RUN_BYTES = 40
_CACHE_SHARE = 0.25
_ROW_BYTES, _READING_SHARE, _LEAST_ROWS = 240, 0.25, 4
"""Of a row of the table: its columns, and those of it that are being sorted or taken in."""
_SLACK = 1.25
"""A log gives when it has so many times what it may keep: not a page for each run that comes."""


class IndexPages:
    """Keeps logs within *memory_bytes*, in pages of at most *page_runs*; None: everything stays in memory.

    Threads may share it, each with logs of its own.
    """

    def __init__(self, memory_bytes: int | None = None, page_runs: int = PAGE_RUNS) -> None:
        self._page_runs, self._is_full, self._memory_bytes = page_runs, False, memory_bytes
        self._most_runs = None if memory_bytes is None else int(memory_bytes * (1 - _CACHE_SHARE) / _RUN_BYTES)
        self._cache = PageCache(int((memory_bytes or 0) * _CACHE_SHARE / _PAGE_RUN_BYTES))
        self._file: SpillFile | None = None
        self._opening = threading.Lock()

    @property
    def rows_at_once(self) -> int:
        """How many rows of the table may be in memory while it is read."""
        if self._memory_bytes is None:
            return sys.maxsize
        return max(_LEAST_ROWS, int(self._memory_bytes * _READING_SHARE / _ROW_BYTES))

    def share(self, sizes: Int64s) -> int:
        """Return how many runs each of logs of such *sizes* may keep in memory."""
        if self._most_runs is None or sizes.sum() <= self._most_runs:
            return sys.maxsize
        return max(1, level(sizes, self._most_runs))

    def make_room(self, logs: Collection[LogIndex]) -> None:
        """Have *logs* give what is too much; where the disk has no room it stays in memory, and is told once."""
        if self._most_runs is not None:
            kept = self.share(np.array([len(log.paged.tail) for log in logs], np.int64))
            self.trim([(log, kept) for log in logs])

    def trim(self, logs: Iterable[tuple[LogIndex, int]]) -> None:
        """Have each of *logs* give what it has beyond what it may keep, as :meth:`make_room` does."""
        try:
            for log, kept in logs:
                if len(log.paged.tail) > kept * _SLACK:
                    self._give(log, kept, self._open_file())
                    self._is_full = False
        except OSError as problem:
            if not self._is_full:
                reason = errno.errorcode.get(problem.errno or 0, "") or str(problem)
                logger.warning("the index takes more memory than it may, its disk has no room: %s", reason)
            self._is_full = True

    def _open_file(self) -> SpillFile:
        with self._opening:
            self._file = self._file or SpillFile()
            return self._file

    def _give(self, log: LogIndex, kept: int, file: SpillFile) -> None:
        page_runs = min(self._page_runs, max(_LEAST_PAGE_RUNS, int(kept * (_SLACK - 1))))
        if pages := (len(log.paged.tail) - max(kept, 1)) // page_runs:
            log.let_go(pages, page_runs, log.store or LogPages(file, self._cache))


class PageCache:
    """Pages that were asked for lately, of so many runs together; threads may share it."""

    def __init__(self, most_runs: int) -> None:
        self._most_runs, self._runs = most_runs, 0
        self._pages: OrderedDict[Extent, Runs] = OrderedDict()
        self._lock = threading.RLock()  # pages may be dropped wherever the last who knew them goes

    def get(self, file: SpillFile, extent: Extent) -> Runs:
        """Return the page that *extent* is of."""
        with self._lock:
            if (known := self._pages.get(extent)) is not None:
                self._pages.move_to_end(extent)
                return known
        start, length, origin, origin_start, indexed_at_ms = file.get(extent)
        page = Runs(start, length, origin.astype(np.int32), origin_start, indexed_at_ms)
        with self._lock:
            if extent not in self._pages:
                self._pages[extent], self._runs = page, self._runs + len(page)
            while self._runs > self._most_runs and len(self._pages) > 1:
                self._runs -= len(self._pages.popitem(last=False)[1])
        return page

    def drop(self, extent: Extent) -> None:
        """Forget a page whose room somebody else gets."""
        with self._lock:
            self._runs -= len(self._pages.pop(extent, ()))


class LogPages:
    """The pages of one log; others get their room when nobody holds the log, or a view of it, any more."""

    def __init__(self, file: SpillFile, cache: PageCache) -> None:
        self._file, self._cache = file, cache
        self._extents: dict[tuple[int, int], Extent] = {}

    def keep(self, page: Runs, first: int, end: int) -> None:
        """Keep the runs of the page ``[first, end)``; raises OSError where there is no room."""
        self._extents[first, end] = self._file.put([column.astype(np.int64, copy=False) for column in columns_of(page)])

    def read(self, first: int, end: int) -> Runs:
        """Return the runs of the page ``[first, end)``."""
        return self._cache.get(self._file, self._extents[first, end])

    def __del__(self) -> None:
        for extent in self._extents.values():
            self._cache.drop(extent)
            self._file.free(extent)


def level(sizes: Int64s, most: int) -> int:
    """Return how many each may keep, so that all that have more keep as many and together they keep *most*."""
    ascending = np.sort(sizes)
    left = len(ascending) - np.arange(len(ascending))
    if_all_larger_keep = np.cumsum(ascending) - ascending + left * ascending
    number = int(np.searchsorted(if_all_larger_keep, most, "right"))
    smaller = int(ascending[:number].sum())
    return (most - smaller) // max(1, len(ascending) - number)
