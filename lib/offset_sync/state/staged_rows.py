"""All rows of the index by log and offset, of a table larger than memory: an external merge sort.

Rows are gathered until there are as many as memory may hold, sorted, and put into a file in blocks. Then blocks are
read by where they begin, and what stands before the first one that was not read yet is complete. The files of the table
follow each other in time, so of each log few blocks overlap; however they do, one of each sorted part is in memory.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from offset_sync.state.index_rows import IndexRows, joined, joined_by_log
from offset_sync.state.spill_file import Extent, SpillFile
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
_BLOCKS = 32
"""A sorted part lies in about so many blocks."""
_SORTERS = 2
"""So many parts are sorted side by side while the next rows are read; what takes time there holds no GIL."""


@dataclass(frozen=True)
class _Block:
    """Rows in order; in the file or, where that has no room, in memory, or wherever they are read from."""

    log: int
    start: int
    size: int
    last_log: int
    rows: IndexRows | Extent | Callable[[], IndexRows]


class LogPart(NamedTuple):
    """The rows of one log in a block: the log's number, the least offset of them, and how many they are."""

    log: int
    first: int
    rows: int


class MisstatedError(Exception):
    """A file holds other rows than it says: it is to be read as if it said nothing."""


class StagedRows:
    """Rows that are sorted; half as many again as *most_rows* are in memory at a time, and what sorting them takes."""

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self._gathered, self._size = list[IndexRows](), 0
        self._blocks: list[_Block] = []
        self._file: SpillFile | None = None
        self._is_full = False
        self._opening = threading.Lock()
        self._sorters: ThreadPoolExecutor | None = None
        self._sorting: deque[Future[list[_Block]]] = deque()
        self._sizes = np.zeros(0, np.int64)
        self._shared = 0

    def add(self, rows: IndexRows) -> None:
        """Add *rows*, in any order."""
        if len(rows) == 0:
            return
        self._count(np.bincount(rows.log))
        if self._size and self._size + len(rows) > self._most_rows // _SORTERS:
            self._put_away_beside()
        self._gathered.append(rows)
        self._size += len(rows)

    def add_block(self, parts: Sequence[LogPart], read: Callable[[], IndexRows]) -> None:
        """Add rows that stand in order where they lie, of which *parts* are those of each log; *read* returns them.

        They are read when their logs are. Of blocks with many logs no more are left than memory may hold: what is read
        for the first log waits for the last one.
        """
        size = sum(part.rows for part in parts)
        if len(parts) > 1 and self._shared + size > self._most_rows:
            self.add(checked(read(), parts))
            return
        self._shared += size if len(parts) > 1 else 0
        self._count(np.bincount([part.log for part in parts], [part.rows for part in parts]).astype(np.int64))
        first = min(parts)
        self._blocks.append(_Block(first.log, first.first, size, max(parts).log, lambda: checked(read(), parts)))

    def _count(self, rows_by_log: Int64s) -> None:
        sizes = np.zeros(max(len(rows_by_log), len(self._sizes)), np.int64)
        sizes[: len(self._sizes)] += self._sizes
        sizes[: len(rows_by_log)] += rows_by_log
        self._sizes = sizes

    @property
    def sizes(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """How many rows each log has, by its number."""
        return self._sizes

    def shares(self, most: int) -> list[frozenset[int]]:
        """Return the numbers of all logs in parts with as many rows, *most* of them at most; nothing is added then.

        One where all fits into memory.
        """
        self._end()
        is_small = self._file is None and int(self._sizes.sum()) <= self._most_rows
        shares: list[set[int]] = [set() for _ in range(1 if len(self._sizes) < most or is_small else most)]
        rows = [0] * len(shares)
        for log in np.argsort(-self._sizes, kind="stable").tolist():
            least = rows.index(min(rows))
            shares[least].add(log)
            rows[least] += int(self._sizes[log])
        return [frozenset(each) for each in shares]

    def _end(self) -> None:
        rows, is_all = self._gathered, not (self._blocks or self._sorting)
        self._gathered, self._size = [], 0
        if rows:
            self._blocks += self._put_away(rows, is_all=is_all)
        while self._sorting:
            self._blocks += self._sorting.popleft().result()
        if self._sorters is not None:
            self._sorters.shutdown()
            self._sorters = None

    def in_order(self, only: frozenset[int] | None = None, readers: int = 1) -> Iterator[IndexRows]:
        """Yield all rows, by log and offset, those of *only* these logs; what has one offset comes in one piece.

        Rows of other logs may be among them. So many *readers* at the same time share the memory.
        """
        self._end()
        blocks = sorted(self._blocks, key=lambda block: (block.log, block.start))
        if only is not None:
            blocks = [each for each in blocks if any(each.log <= log <= each.last_log for log in only)]
        waiting, at = list[IndexRows](), 0
        while at < len(blocks) or waiting:
            size = sum(map(len, waiting))
            most = max(size + 1, self._most_rows // (2 * readers))
            while at < len(blocks) and size < most:
                waiting.append(self._rows_of(blocks[at]))
                size, at = size + blocks[at].size, at + 1
            rows = joined(waiting).in_order()
            complete = rows.below(blocks[at].log, blocks[at].start) if at < len(blocks) else len(rows)
            waiting = [rows.take(slice(complete, None))] if complete < len(rows) else []
            if complete:
                yield rows.take(slice(0, complete))

    def _put_away_beside(self) -> None:
        """Let a thread put away what was gathered; waits where all of them are at work."""
        while len(self._sorting) >= _SORTERS:
            self._blocks += self._sorting.popleft().result()
        self._sorters = self._sorters or ThreadPoolExecutor(_SORTERS, "sorting rows")
        self._sorting.append(self._sorters.submit(self._put_away, self._gathered))
        self._gathered, self._size = [], 0

    def _put_away(self, gathered: Sequence[IndexRows], *, is_all: bool = False) -> list[_Block]:
        """Sort rows and return them as blocks; they are put into the file, unless it is all there is."""
        rows = joined_by_log(gathered).in_order()
        block_rows = len(rows) if is_all else max(1, -(-self._most_rows // _BLOCKS))
        blocks = []
        for first, end in _cuts(rows, block_rows):
            part = rows.take(slice(first, end))
            place = (int(part.log[0]), int(part.start[0]), len(part), int(part.log[-1]))
            blocks.append(_Block(*place, part if is_all else self._kept(part)))
        return blocks

    def _kept(self, rows: IndexRows) -> IndexRows | Extent:
        if not self._is_full:
            try:
                with self._opening:
                    self._file = self._file or SpillFile()
                return self._file.put(rows.columns)
            except OSError as problem:
                logger.warning("reading the index takes more memory than it may, its disk has no room: %s", problem)
                self._is_full = True
        return IndexRows(*(column.copy() for column in rows.columns))

    def _rows_of(self, block: _Block) -> IndexRows:
        if isinstance(block.rows, IndexRows):
            return block.rows
        if callable(block.rows):
            return block.rows()
        assert self._file is not None
        return IndexRows(*self._file.get(block.rows))


def checked(rows: IndexRows, parts: Sequence[LogPart]) -> IndexRows:
    """Return *rows*, which are those of the *parts*; raises MisstatedError where they are others."""
    found = rows.in_order()
    ends = found.log.searchsorted([part.log for part in parts], "right")
    begins = found.log.searchsorted([part.log for part in parts], "left")
    is_same = len(found) == sum(part.rows for part in parts)
    is_same = is_same and [part.rows for part in parts] == (ends - begins).tolist()
    if not is_same or [part.first for part in parts] != found.start[begins].tolist():
        raise MisstatedError(f"{len(rows)} rows of {len(parts)} logs are not those that their file names")
    return found


def _cuts(rows: IndexRows, most: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks begin and end: of one log each, unless they were small."""
    first = 0
    for border in [*(np.flatnonzero(np.diff(rows.log)) + 1).tolist(), len(rows)]:
        if border - first < most // 4 and border < len(rows):
            continue
        while border - first > most:
            yield first, first + most
            first += most
        yield first, border
        first = border
