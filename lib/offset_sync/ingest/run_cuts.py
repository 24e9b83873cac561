"""Cuts: once a log was truncated or recreated, ``record_runs`` is rewritten, in one entry of the table's log.

Readers see that rows were removed and load the table again, so they judge no row by when it was indexed::

    rows of the log     from the cut on they are removed; the log is read again from there
    copies in it        of other origins among those become rows of negative length: unread until they come again
    copies of it        elsewhere, from the cut on: of unknown origin, which is unread by every group

Between the notice of an incarnation and its cut nothing is appended (``IncarnationCheck.confirm``), so all rows are of
before. A cut may be repeated, and is if a crash leaves open whether it was made. Copies of a log's own records that
came back to it are above these, so the first rule removes them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.ingest.incarnation_log import Cuts
from offset_sync.model.values import ClusterPartition
from offset_sync.state import seal
from offset_sync.state.index_rows import int64s
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.maintenance import PARTITION, Maintainer
from offset_sync.tables.rows import partners
from offset_sync.tables.segments import Directory
from offset_sync.tables.store import TableStore
from offset_sync.tables.table_log import FRESH_SECONDS, Change
from offset_sync.tables.transaction_log import DataFile, Version
from offset_sync.translate.index.origin_positions import NO_LIMIT

logger = logging.getLogger(__name__)


class RowCutter:
    """Cuts rows of ``record_runs`` by *cuts*, some at a time."""

    def __init__(self, cuts: Cuts) -> None:
        self._numbers = {log: number for number, log in enumerate(cuts)}
        self._logs = pa.Table.from_pylist([log._asdict() for log in cuts])
        # The last one, -1, is for rows that no cut concerns.
        self._begins = np.array([*(each.begins_at for each in cuts.values()), NO_LIMIT], np.int64)
        self._is_recreated = np.array([*(each.is_recreated for each in cuts.values()), False], np.bool_)
        self._ends = np.full(len(cuts) + 1, -1, np.int64)

    @property
    def ends(self) -> dict[ClusterPartition, int]:
        """How far the rows go that were left of each log; a log without rows is missing."""
        return {log: end for log, end in zip(self._numbers, self._ends.tolist(), strict=False) if end >= 0}

    def cut(self, rows: pa.Table, places: pa.Table) -> pa.Table | None:
        """Return what is left of *rows*, None where all of them stay; *places* are the same with streams as topics."""
        start, length, origin_start = (int64s(rows.column(name)) for name in ("start_offset", "length", "origin_start"))
        is_copy = pc.not_equal(rows.column("origin"), rows.column("cluster")).to_numpy()
        number, there = (self._number(places, owner) for owner in ("cluster", "origin"))
        begin, begin_there = self._begins[number], self._begins[there]
        is_run = length > 0
        is_cut = (start > begin) | ((start + length > begin) & is_run)
        kept = np.where(is_cut & (length >= 0), np.clip(begin - start, 0, length), length)
        known = np.where(is_copy & is_run, np.clip(begin_there - origin_start, 0, kept), kept)
        is_left = ~is_cut | (kept > 0)
        np.maximum.at(self._ends, number[is_left], (start + np.maximum(kept, 0))[is_left])
        if not (is_cut.any() or (known < kept).any()):
            return None
        is_lost = is_cut & ~self._is_recreated[number]
        parts = [
            _part(rows, is_left & (~is_run | (known > 0)), start, known, origin_start),
            _part(rows, known < kept, start + known, kept - known, start + known, origin=""),
            _part(rows, is_lost & is_run & is_copy, begin, kept - length, origin_start + kept),
            _part(rows, is_lost & (length < 0), begin, length, origin_start),
        ]
        return pa.concat_tables(parts)

    def concerns(self, said: Directory) -> bool:
        """Return whether a sealed file has rows that may change."""
        parts, spans, number = said.parts, said.spans, self._numbers.get
        own = np.array([number(log, -1) for log in said.logs])[parts["log"]]
        there = [number(log._replace(cluster=origin), -1) for log in said.logs for origin in said.origins]
        pair = parts["log"][spans["part"]] * len(said.origins) + spans["origin"]
        is_beyond = (spans["high"] >= self._begins[np.array(there)[pair]]).any()
        if is_beyond or (parts["end"] > self._begins[own]).any():
            return True
        np.maximum.at(self._ends, own, parts["end"])
        return False

    def _number(self, places: pa.Table, owner: str) -> NDArray[np.intp]:
        """Return the number of the cut of each row's log, by its column *owner*; -1: none."""
        return partners(places.select([owner, "topic", "partition"]).rename_columns(PARTITION), self._logs, PARTITION)


def _part(
    rows: pa.Table,
    chosen: NDArray[np.bool_],
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    origin_start: NDArray[np.int64],
    **columns: str,
) -> pa.Table:
    """Return the *chosen* of *rows* with other offsets, shape (rows,), and other *columns*."""
    offsets = {"start_offset": start, "length": length, "origin_start": origin_start}
    arrays = {name: pa.array(values) for name, values in offsets.items()}
    arrays |= {name: pa.repeat(value, len(chosen)) for name, value in columns.items()}
    changed = [arrays.get(name, rows.column(name)) for name in rows.column_names]
    return pa.table(changed, rows.schema).filter(pa.array(chosen))


class _AppendedError(Exception):
    """The table has another version than the one that was read."""


class _Rewriter:
    """Rewrites the files of the table, each once; *keep* is how long the versions before can be read."""

    def __init__(self, tables: TableStore, keep: timedelta, cutter: RowCutter) -> None:
        self._tables, self._cutter, self._maintainer = tables, cutter, Maintainer(tables, keep)
        self._segments, self._began_ms = tables.segments(RECORD_RUNS), int(time.time() * 1000)
        self._fresh_seconds = max(FRESH_SECONDS, keep.total_seconds() / 2)
        self._known: dict[str, list[DataFile] | None] = {}

    def enter(self) -> None:
        """Enter the table as it is now, cut; raises _AppendedError where it is another by then."""
        files = self._segments.newest()
        sealed = [each.file for each in files.sealed.values() if self._cutter.concerns(each.directory)]
        touched, added = list[DataFile](), list[DataFile]()
        for file in [*sealed, *(file for _, file in files.unsealed)]:
            if file.path not in self._known:
                self._known[file.path] = self._rewritten(file, is_sealed=file in sealed)
            if (written := self._known[file.path]) is not None:
                touched.append(file)
                added += written

        def decide(now: Version) -> Change:
            if now.number != files.version:
                raise _AppendedError
            return Change(added, touched, began_ms=self._began_ms, fresh_seconds=self._fresh_seconds)

        self._tables.enter(RECORD_RUNS, decide)  # an append that is under way has to look again, also if nothing goes

    def _rewritten(self, file: DataFile, *, is_sealed: bool) -> list[DataFile] | None:
        """Return the files with what is left of one; None: all of it."""
        rows = self._maintainer.whole(RECORD_RUNS, file)
        left = self._cutter.cut(rows, self._tables.inside(RECORD_RUNS, rows))
        if left is None or not left.num_rows:
            return None if left is None else []
        if is_sealed:
            return [seal.write(self._tables, left, file.written_ms)]
        return [self._maintainer.write(RECORD_RUNS, [left], file.written_ms)]


def cut_logs(tables: TableStore, keep: timedelta, cuts: Cuts) -> Mapping[ClusterPartition, int]:
    """Rewrite the table by *cuts*; return how far what is left of each log goes; where nothing is left it is missing.

    A version can be read for *keep* after the next one. What is appended meanwhile is cut too. Raises what the tables
    raise: then nothing is changed.
    """
    began_at, cutter = time.monotonic(), RowCutter(cuts)
    rewriter = _Rewriter(tables, keep, cutter)
    while True:
        try:
            rewriter.enter()
            break
        except _AppendedError:
            continue  # what is rewritten by now is not read again
    logger.info("record_runs: cut for %d logs in %.1f s", len(cuts), time.monotonic() - began_at)
    return cutter.ends
