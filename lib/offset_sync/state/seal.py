"""Sealing ``record_runs``: its newest files, once they have enough rows, become a sealed one (``tables.segments``).

Rows are moved and none is changed. The directory of a part is what an index makes of its rows alone.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa

from offset_sync.model.errors import TableError
from offset_sync.model.values import ClusterPartition
from offset_sync.state.index_rows import IndexRows, RowReader, with_gaps
from offset_sync.tables.catalog import BEGINS, RECORD_RUNS
from offset_sync.tables.maintenance import Maintainer, is_below
from offset_sync.tables.segments import (
    PART,
    PART_KINDS,
    PART_TIMES,
    PREFIX,
    SPAN,
    UNKNOWN,
    Directory,
    Segments,
    cut_into_parts,
    write_sealed,
)
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import DataFile
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN
from offset_sync.translate.index.stretches import Stretches

logger = logging.getLogger(__name__)
FILE_ROWS = 1 << 20
"""A sealed file has about so many rows; twice as many are in memory while it is written."""
MOST_UNSEALED = 2 * FILE_ROWS
"""With more unsealed rows a start seals first: it would read all of them into memory."""


def seal(
    tables: TableStore, segments: Segments, keep: timedelta = timedelta(0), least_rows: int = FILE_ROWS // 2
) -> int:
    """Seal unsealed rows as far as they make files of *least_rows*; return how many.

    A version can be read for *keep* after the next one. Raises RuntimeError where another process has removed the same
    files meanwhile: nothing is changed then.
    """
    unsealed, rows, began_at = [each for _, each in segments.newest().unsealed], 0, time.monotonic()
    if not any(_to_seal(unsealed, least_rows)):
        return 0
    maintainer = Maintainer(tables, keep)
    known = {each.path for each in maintainer.known_files(RECORD_RUNS)}
    for group in _to_seal([each for each in unsealed if each.path in known], least_rows):
        written_from, written = time.time(), list[DataFile]()
        newest_ms = max(each.written_ms for each in group)
        for portion in _portions(maintainer.rows(RECORD_RUNS, group)):
            written.append(write(tables, portion, newest_ms))
        maintainer.move(RECORD_RUNS, group, written, written_from)
        rows += sum(each.rows or 0 for each in written)
    if rows:
        logger.info("record_runs: %d rows sealed in %.1f s", rows, time.monotonic() - began_at)
    return rows


def cut(tables: TableStore, begins: pa.Table, keep: timedelta) -> int:
    """Remove rows that begin below their partition's *begins* and end at or below it; return how many.

    All of them or, where it is not worth it, none: removed rows above kept ones would look like a gap. A sealed file
    that keeps all its rows is not read. Raises RuntimeError where another process removes files at the same time,
    or a row that stays was not written; nothing is changed then.
    """
    if not begins.num_rows:
        return 0
    maintainer, files = Maintainer(tables, keep), tables.segments(RECORD_RUNS).newest()
    at = {ClusterPartition(*row[:3]): row[3] for row in zip(*begins.to_pydict().values(), strict=True)}
    looked_at = [each.file for each in files.sealed.values() if _reaches_below(each.directory, at)]
    are_sealed = {each.path for each in looked_at}
    looked_at += [file for _, file in files.unsealed]

    def write_kept(file: DataFile, rows: pa.Table) -> DataFile:
        if file.path in are_sealed:
            return write(tables, rows, file.written_ms)
        return maintainer.write(RECORD_RUNS, [rows], file.written_ms)

    return maintainer.remove(RECORD_RUNS, partial(is_below, begins=begins), looked_at, write_kept)


def _reaches_below(said: Directory, begins: Mapping[ClusterPartition, int]) -> bool:
    begin = np.array([begins.get(log, 0) for log in said.logs], np.int64)
    return bool((said.parts["start"] < begin[said.parts["log"]]).any())


def _to_seal(files: Iterable[DataFile], least_rows: int) -> Iterator[list[DataFile]]:
    """Yield groups of *files*, in the order they were written; each becomes one file, or several where it is large."""
    group, rows = list[DataFile](), 0
    for file in sorted(files, key=lambda each: (each.written_ms, each.path)):
        group.append(file)
        rows += FILE_ROWS if file.rows is None else file.rows
        if rows >= FILE_ROWS:
            yield group
            group, rows = [], 0
    if group and rows >= least_rows:
        yield group


def _portions(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of all *pieces*, as many at a time as a file has.

    They are cut where sorted rows end and start over: a file that another process has merged from sealed ones is cut
    into these.
    """
    gathered, rows = list[pa.Table](), 0
    for piece in pieces:
        gathered.append(piece)
        rows += piece.num_rows
        while rows >= FILE_ROWS + FILE_ROWS // 2:
            whole = pa.concat_tables(gathered).combine_chunks()
            cut = _cut(whole)
            yield whole.slice(0, cut)
            gathered, rows = [whole.slice(cut)], rows - cut
    if rows:
        yield pa.concat_tables(gathered)


def _cut(rows: pa.Table) -> int:
    found = _reader({}).read(rows.slice(0, FILE_ROWS + 1))
    log, start = found.log, found.start
    ends = np.flatnonzero((log[1:] < log[:-1]) | ((log[1:] == log[:-1]) & (start[1:] < start[:-1]))) + 1
    wanted = ends[ends > FILE_ROWS // 2]
    return int(wanted[-1]) if len(wanted) else FILE_ROWS


def write(tables: TableStore, rows: pa.Table, written_ms: int) -> DataFile:
    """Write *rows* as a sealed file of ``record_runs``, which is invisible before it has its entry."""
    rows, directory = sealed(rows)
    name = f"{PREFIX}{uuid.uuid4()}.snappy.parquet"
    written = write_sealed(tables.files, tables.path(RECORD_RUNS), rows, directory, name)
    return written._replace(written_ms=written_ms)


def sealed(rows: pa.Table) -> tuple[pa.Table, Directory]:
    """Return *rows* of ``record_runs`` in the order of a sealed file, and their directory."""
    codes = {"": UNKNOWN_ORIGIN}
    reader = _reader(codes)
    found = reader.read(rows)
    order = found.order()
    rows, found = rows.combine_chunks().take(pa.array(order)), found.take(order)
    parts = _Parts()
    for group, edges in enumerate(cut_into_parts(found.log)):
        for first, end in pairwise(edges):
            parts.add(group, found.take(slice(first, end)))
    # The unknown origin comes first, so the numbers of the others are one above their codes.
    return rows, Directory(list(reader.logs), list(codes), *parts.columns())


def _reader(codes: dict[str, int]) -> RowReader:
    return RowReader(lambda origin: codes.setdefault(origin, len(codes) - 1))


class _Parts:
    """Gathers the columns of a directory."""

    def __init__(self) -> None:
        self._parts, self._spans, self._unknown = (list[Sequence[int]]() for _ in range(3))

    def add(self, group: int, rows: IndexRows) -> None:
        """Add the *rows* of one log in a row group."""
        first, number = int(rows.start[0]), len(self._parts)
        known_ms = rows.complete_ms[rows.complete_ms > 0]
        log, runs = LogIndex(first), rows.runs
        if len(runs):
            log.extend(with_gaps(runs, first), int(runs.end.max()))
        found = log.runs
        known = Stretches.of(found, first, log.frontier)
        numbers = [int(column[0]) for column in known.columns] if len(known) else [0] * 5
        self._parts.append(
            (
                *(group, int(rows.log[0]), len(rows), *rows.extent),
                *(numbers[2], int(found.end.max(initial=0)), numbers[3], len(found), log.reorders),
                *(int(rows.seen_ms.min()), int(rows.seen_ms.max()), log.grew_at_ms),
                int(known_ms[-1]) if len(known_ms) else 0,
                *(
                    int(rows.length[0] == 0 and rows.origin_start[0] == BEGINS),
                    int(not log.is_contradicted and rows.length.min() >= 0),
                ),
            )
        )
        first_runs = log.first_runs()
        for row, origin in enumerate(first_runs.origin.tolist()):
            span = (int(column[0]) for column in known.span(origin))
            run = (first_runs.start, first_runs.length, first_runs.origin_start, first_runs.indexed_at_ms)
            self._spans.append((number, origin - UNKNOWN_ORIGIN, *span, *(int(column[row]) for column in run)))
        for start, length in zip(*(column.tolist() for column in log.unknown_ranges), strict=True):
            self._unknown.append((number, start, length))

    def columns(self) -> list[dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]]:
        """Return the columns of parts, spans, and unidentified ranges."""
        named: list[tuple[list[Sequence[int]], tuple[str, ...]]] = [
            (self._parts, (*PART, *PART_TIMES, *PART_KINDS)),
            (self._spans, SPAN),
            (self._unknown, UNKNOWN),
        ]
        return [
            dict(zip(names, np.array(rows, np.int64).reshape(-1, len(names)).T.copy(), strict=True))
            for rows, names in named
        ]


def seal_if_due(tables: TableStore, segments: Segments, keep: timedelta) -> None:
    """Seal once if there are enough rows for a file; a failure is logged, and retried by the next call."""
    try:
        seal(tables, segments, keep, FILE_ROWS)
    except RuntimeError as problem:
        logger.info("record_runs is not sealed for now: %s", problem)
    except (OSError, TableError) as problem:  # records are indexed all the same
        logger.warning("record_runs is not sealed for now: %s", problem)
