"""Keep Delta tables small beside the jobs that append to them: cut rows, join files, clean up leftovers.

Rows that are appended meanwhile are left alone. To a follower of the log every version made here is one that removes
files, without new rows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.tables.definition import Table, fitted
from offset_sync.tables.files import read_in_pieces
from offset_sync.tables.rows import partners, pieces_of
from offset_sync.tables.store import TableStore
from offset_sync.tables.table_log import FRESH_SECONDS, Change
from offset_sync.tables.transaction_log import DataFile, Version, data_path, write_rows

logger = logging.getLogger(__name__)
PARTITION = ("cluster", "topic", "partition")
BEGINS_SCHEMA = pa.schema(
    [("cluster", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("begin", pa.int64())]
)
"""The offset where the index of each partition is to begin."""
_LARGE_BYTES = 64 << 20
"""Files of this size are not joined again: otherwise every run would rewrite the whole table."""
LEAST_SHARE = 0.1
"""Files are rewritten when at least this share of their rows may go."""
_REMOVED = "another process has removed files; try again"
IsCut = Callable[[pa.Table], NDArray[np.bool_]]
Rewrite = Callable[[DataFile, pa.Table], DataFile]


@dataclass(frozen=True)
class Size:
    """A table now: how many *files* it has, and their *size* in bytes."""

    files: int
    size: int


class Maintainer:
    """Works on *tables*; readers and writers elsewhere may go on.

    A version and its files can be read for *keep* after the next one was made.
    """

    def __init__(self, tables: TableStore, keep: timedelta) -> None:
        self._tables, self._files, self._keep = tables, tables.files, keep

    def size(self, table: Table) -> Size:
        """Return how large a table is."""
        files = self._tables.log(table).newest().files()
        return Size(len(files), sum(each.size for each in files))

    def prepare(self, table: Table) -> None:
        """Set the properties that maintenance needs."""
        seconds = f"interval {int(self._keep.total_seconds())} seconds"
        wanted = {
            "delta.appendOnly": str(table.is_append_only).lower(),
            "delta.logRetentionDuration": seconds,
            "delta.deletedFileRetentionDuration": seconds,
        }
        self._tables.log(table).set_properties(wanted)

    def compact(self, table: Table, *, but: str | None = None) -> None:
        """Join small files, but those whose name begins with *but*, into larger ones. Raises as :meth:`remove`."""
        small = [each for each in self.known_files(table) if each.size < _LARGE_BYTES]
        small = [each for each in small if but is None or not each.path.startswith(but)]
        for group in _to_join(small):
            began_at = time.time()
            newest_ms = max(each.written_ms for each in group)
            self.move(table, group, [self.write(table, self.rows(table, group), newest_ms)], began_at)

    def remove(
        self, table: Table, is_cut: IsCut, among: Sequence[DataFile] | None = None, write: Rewrite | None = None
    ) -> int:
        """Remove the rows for which *is_cut*, asked of the rows of a file, returns True; return how many.

        Returns 0 and changes nothing where too few rows would go. Only files *among* these are read, all of the table
        by default. *write* writes the rows that are kept of a file, :meth:`write` by default. What is appended
        meanwhile stays, whatever it is. Raises RuntimeError where another process removes files at the same time, or a
        row that stays was not written; nothing is changed then.
        """
        known = {each.path: each for each in self.known_files(table)}
        if known and among is not None and any(each.path not in known for each in among if _is_plain(each)):
            raise RuntimeError(f"{table.name}: {_REMOVED}")
        touched, gone, held = list[DataFile](), 0, 0
        for file in known.values() if among is None else [each for each in among if each.path in known]:
            if (cut := is_cut(self.whole(table, file))).any():
                touched.append(file)
                gone, held = gone + int(cut.sum()), held + len(cut)
        if not touched or gone < LEAST_SHARE * held:
            return 0
        began_at, into = time.time(), list[DataFile]()
        for file in touched:
            rows = self.whole(table, file)
            if (kept := rows.filter(pa.array(~is_cut(rows)))).num_rows:
                into.append(write(file, kept) if write else self.write(table, [kept], file.written_ms))
        written = sum(each.rows or 0 for each in into)
        if written != held - gone:
            raise RuntimeError(f"{table.name}: {written} rows were to be kept instead of {held - gone}; all stay")
        self._enter(table, touched, into, began_at, moves=False)
        return gone

    def clean_up(self, table: Table) -> None:
        """Delete log entries and files that no version needs, after the time that they are kept.

        Among them are leftovers of killed writers, hidden files of delta-rs too.
        """
        self._tables.log(table).clean_up()
        old_before_ms = (time.time() - self._keep.total_seconds()) * 1000
        path = self._tables.path(table)
        for name, written_ms in self._files.written_ms(path, recursive=True).items():
            if _is_left_over(name) and written_ms < old_before_ms:
                self._files.delete(f"{path}/{name}")

    def known_files(self, table: Table) -> list[DataFile]:
        """Return the files of *table*; none where somebody has added columns to it, which would be lost.

        Raises TableError as :meth:`TableStore.newest` does.
        """
        now = self._tables.newest(table)
        if unknown := {*now.columns} - {*table.names}:
            logger.warning("%s: its files are left alone: columns %s are unknown", table.name, sorted(unknown))
            return []
        # delta-rs does not remove a file whose name is quoted in the log.
        return [each for each in now.files() if _is_plain(each)]

    def move(self, table: Table, files: Sequence[DataFile], into: Sequence[DataFile], began_at: float) -> None:
        """Enter that all rows of *files* are now in *into*; a file without a row count may have any number."""
        held, rows = sum(each.rows or 0 for each in files), sum(each.rows or 0 for each in into)
        if rows < held or (rows > held and all(each.rows is not None for each in files)):
            raise RuntimeError(f"{table.name}: {rows} rows were written instead of {held}; they stay as they are")
        self._enter(table, files, into, began_at, moves=True)

    def _enter(
        self, table: Table, files: Sequence[DataFile], into: Sequence[DataFile], began_at: float, *, moves: bool
    ) -> None:
        """Enter *into*, written from *began_at* on, in the place of *files*, if all of these are still there.

        delta-rs itself does not check. Another maintenance deletes a file without an entry that is older than *keep*.
        """
        fresh_seconds = max(FRESH_SECONDS, self._keep.total_seconds() / 2)

        def decide(now: Version) -> Change:
            if not {each.path for each in files} <= {each.path for each in now.files()}:
                raise RuntimeError(f"{table.name}: {_REMOVED}")
            return Change(into, files, moves=moves, began_ms=int(began_at * 1000), fresh_seconds=fresh_seconds)

        self._tables.log(table).commit(decide)

    def whole(self, table: Table, file: DataFile) -> pa.Table:
        """Return the rows of a *file*."""
        return pa.concat_tables([table.no_rows, *self.rows(table, [file])])

    def rows(self, table: Table, files: Iterable[DataFile]) -> Iterator[pa.Table]:
        wanted = [(data_path(self._tables.path(table), each.path), each.size) for each in files]
        for piece in read_in_pieces(self._files, wanted, table.names):
            yield fitted(piece, table.arrow_schema)

    def write(self, table: Table, pieces: Iterable[pa.Table], written_ms: int) -> DataFile:
        """Write *pieces* as a file, which is invisible before it has its entry."""
        schema, folder = table.arrow_schema, self._tables.path(table)
        return write_rows(self._files, folder, schema, pieces_of(pieces, schema))._replace(written_ms=written_ms)


def is_below(rows: pa.Table, begins: pa.Table) -> NDArray[np.bool_]:
    """Return which *rows* end at or below the begin of their partition; a partition without one keeps all rows."""
    partner = partners(rows, begins, PARTITION)
    begin = np.append(begins.column("begin").to_numpy(), 0)[partner]
    start, length = (rows.column(name).to_numpy() for name in ("start_offset", "length"))
    found: NDArray[np.bool_] = (partner >= 0) & (start < begin) & (start + np.abs(length) <= begin)
    return found


def _to_join(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Yield groups of *files* that become one each, in the order in which they were written."""
    group, size = list[DataFile](), 0
    for file in sorted(files, key=lambda each: (each.written_ms, each.path)):
        if group and size + file.size > 2 * _LARGE_BYTES:
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if len(group) > 1:
        yield group


def _is_plain(file: DataFile) -> bool:
    return unquote(file.path) == file.path


def _is_left_over(path: str) -> bool:
    name = path.rpartition("/")[2]
    return (name.startswith(".") and ".tmp" in name) or ".json#" in name
