"""Rows of ``record_runs`` as arrays: sorted, checked, and with their gaps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.model.values import ClusterPartition
from offset_sync.tables.catalog import BEGINS
from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs

TIMES = ("indexed_at", "min_timestamp", "max_timestamp", "complete_until")
COLUMNS = ["cluster", "topic", "partition", "start_offset", "length", "origin", "origin_start", *TIMES]
UNTIMED = [name for name in COLUMNS if name not in ("min_timestamp", "max_timestamp")]
"""The columns read where no topic is translated by timestamp."""


@dataclass(frozen=True, eq=False)
class IndexRows(Columns):
    """Rows of many logs; shapes (rows,), times in ms since the epoch, 0 where the table has none.

    *log* is the log's number at a :class:`RowReader`, *origin* the code of the row's origin.
    """

    log: Int64s
    start: Int64s
    length: Int64s
    origin: Int64s
    origin_start: Int64s
    seen_ms: Int64s
    least_ms: Int64s
    most_ms: Int64s
    complete_ms: Int64s

    @property
    def runs(self) -> Runs:
        """The rows as runs, those of length 0 among them."""
        return Runs(self.start, self.length, self.origin.astype(np.int32), self.origin_start, self.seen_ms)

    @property
    def extent(self) -> tuple[int, int]:
        """The first offset, and the highest end of a row; there is at least one row."""
        return int(self.start.min()), int((self.start + np.maximum(self.length, 0)).max())

    def by_log(self) -> Iterator[tuple[int, IndexRows]]:
        """Yield the number of each log and its rows, of rows in order."""
        edges = (self.log[1:] != self.log[:-1]).nonzero()[0] + 1
        for first, end in pairwise([0, *edges.tolist(), len(self)] if len(self) else []):
            yield int(self.log[first]), self.take(slice(first, end))

    def in_order(self) -> IndexRows:
        """Return the same by log and offset.

        At one offset the end of a micro-batch comes before the begin of the next, and of duplicates the one seen first.
        """
        order = self.order()
        return self if bool((order[1:] > order[:-1]).all()) else self.take(order)

    def order(self) -> NDArray[np.intp]:
        """Return how the rows are put :meth:`in_order`, shape (rows,)."""
        keys = (self.origin, self.seen_ms, -self.origin_start, self.length, self.start, self.log)
        found: NDArray[np.intp] = np.lexsort(keys)
        return found


NO_ROWS = IndexRows.none()


class RowReader:
    """Makes arrays of rows of the table, which may be without timestamps; *code* gives codes to origins.

    It numbers logs: :attr:`numbers` by log, :attr:`logs` by number. Threads may share it.
    """

    def __init__(self, code: Callable[[str], int]) -> None:
        self._code = code
        self.numbers: dict[ClusterPartition, int] = {}
        self.logs: list[ClusterPartition] = []
        self._numbering = threading.Lock()

    def read(self, rows: pa.Table) -> IndexRows:
        """Return *rows*, in no order."""
        if rows.num_rows == 0:
            return NO_ROWS
        log = self._logs_of(rows)
        start, length, origin_start = (int64s(rows.column(n)) for n in ("start_offset", "length", "origin_start"))
        codes, origin = _encoded(rows.column("origin"))
        seen_ms, complete_ms = (int64s(rows.column(name)) // 1000 for name in ("indexed_at", "complete_until"))
        least_ms = most_ms = np.zeros(len(log), np.int64)
        if "min_timestamp" in rows.column_names:
            least_ms, most_ms = (int64s(rows.column(name)) // 1000 for name in ("min_timestamp", "max_timestamp"))
        known = np.array([self._code(name) for name in codes], np.int64)[origin]
        columns = (start, length, known, origin_start, seen_ms, least_ms, most_ms, complete_ms)
        return IndexRows(log, *columns)

    def _logs_of(self, rows: pa.Table) -> Int64s:
        """Return the number of each row's log."""
        (clusters, cluster), (topics, topic) = (_encoded(rows.column(name)) for name in ("cluster", "topic"))
        partition = int64s(rows.column("partition"))
        width = int(partition.max()) + 1
        place = (cluster * len(topics) + topic) * width + partition
        numbers = np.zeros(len(clusters) * len(topics) * width, np.int64)
        is_there = np.zeros(len(numbers), np.bool_)
        is_there[place] = True
        for each in is_there.nonzero()[0].tolist():
            rest, number = divmod(each, width)
            log = ClusterPartition(clusters[rest // len(topics)], topics[rest % len(topics)], number)
            numbers[each] = self.number_of(log)
        found: Int64s = numbers[place]
        return found

    def number_of(self, log: ClusterPartition) -> int:
        """Return the number of *log*, a new one if it has none."""
        with self._numbering:
            if log not in self.numbers:
                self.logs.append(log)
                self.numbers[log] = len(self.logs) - 1
            return self.numbers[log]


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], Int64s]:
    """Return the distinct texts of a column, and which of them each row has."""
    whole = column.combine_chunks()
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    index: Int64s = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), index


def with_gaps(rows: Runs, frontier: int) -> Runs:
    """Return the runs among *rows*, with offsets that were not indexed as records unread by every group.

    Each micro-batch begins where the one before has ended. Where it does not, a checkpoint or a table was set back or
    recreated, and there may be records between. All below *frontier* is known, even if rows repeat it.
    """
    covered = np.maximum.accumulate(np.concatenate(([frontier], rows.end[:-1])))
    is_gap = (rows.length == 0) & (rows.origin_start == BEGINS) & (rows.start > covered)
    if is_gap.any():
        start = np.where(is_gap, covered, rows.start)
        origin = np.where(is_gap, np.int32(UNKNOWN_ORIGIN), rows.origin)
        length = np.where(is_gap, rows.start - covered, rows.length)
        rows = Runs(start, length, origin, np.where(is_gap, start, rows.origin_start), rows.indexed_at_ms)
    is_kept = rows.length > 0
    return rows if is_kept.all() else rows.take(is_kept)


def int64s(column: pa.Array | pa.ChunkedArray, null: int = 0) -> NDArray[np.int64]:
    """Return a column of numbers or times, *null* for null."""
    if column.null_count:
        column = column.cast(pa.int64()).fill_null(null)
    values: NDArray[np.int64] = column.to_numpy()
    return values.astype(np.int64, copy=False)
