"""Create, append to, follow and read the Delta tables, on any storage. No JVM is needed; Spark only reads them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Self

import pyarrow as pa

from offset_sync.model.errors import TableError
from offset_sync.model.stream_names import Names
from offset_sync.tables.catalog import ALL_TABLES, TABLES
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files, HasPlaces, check_storage, files_of, read_in_pieces
from offset_sync.tables.log_repair import repair_log
from offset_sync.tables.rows import (
    ANSWERS,
    answered_as_now,
    cluster_of,
    needed_of,
    pieces_of,
    renamed,
)
from offset_sync.tables.segments import Segments
from offset_sync.tables.table_log import Change, TableLog
from offset_sync.tables.transaction_log import (
    Added,
    DataFile,
    Version,
    data_path,
    read_added_rows,
    write_rows,
)

logger = logging.getLogger(__name__)
_ATTEMPTS = 5
_AT_ONCE = 24
"""How many tables are opened together, all of them: on S3 each takes four requests, one after the other."""


class TableStore:
    """The Delta tables under one root; threads may share it.

    With *names* callers use streams, and rows in the tables have the topic names of their clusters. *before_entry* is
    called with the path of a table when a file is written that is not in the log yet.
    """

    def __init__(
        self,
        root: str,
        files: Files | None = None,
        names: Names | None = None,
        before_entry: Callable[[str], None] = lambda _path: None,
    ) -> None:
        self.root, self.files, self.names = root.rstrip("/"), files or Files(), names
        self._before_entry = before_entry
        self._logs: dict[str, TableLog] = {}

    @classmethod
    def of(cls, config: HasPlaces, names: Names | None = None) -> Self:
        """Return the tables of *config*."""
        return cls(config.tables.root, files_of(config), names)

    def path(self, table: Table) -> str:
        """Return the path of *table*."""
        return f"{self.root}/{table.name}"

    def log(self, table: Table) -> TableLog:
        """Return the log of *table*."""
        return self._logs.setdefault(table.name, TableLog(self.path(table), self.files))

    def create(self, tables: Sequence[Table] = TABLES, *, tests_storage: bool = True) -> None:
        """Create every table that does not exist yet.

        On a local disk repair logs after a power failure. Raises TableError, with the remedy, where that would lose
        rows, or where any table below the root has another format, and PlatformError where drivers could overwrite each
        other's entries: nothing is created then.
        Each driver *tests_storage* for that at its start, by some twenty requests at once.
        """
        known = [*dict.fromkeys((*ALL_TABLES, *tables))]
        self.repair(known)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self.is_there, known))  # refuses another format
            if tests_storage:
                check_storage(self.root, self.files)
            list(pool.map(lambda table: self.log(table).make(table), tables))
        self.files.sync_folders(self.root)

    def repair(self, tables: Iterable[Table] = TABLES) -> None:
        """Repair the logs of *tables* after a power failure; raises TableError where that would lose rows.

        To be done before a version is remembered: a partial entry is removed, and its number is used again.
        """
        for table in tables:
            if (own := self.files.local(self.path(table))) is not None:
                repair_log(own)

    def is_there(self, table: Table) -> bool:
        """Return whether *table* exists."""
        return self.log(table).is_there()

    # Reading

    def all_rows(self, table: Table) -> pa.Table:
        """Return all rows of *table* as it is now."""
        return self.rows_since(table, None)[0]

    def _read_whole(self, table: Table) -> tuple[pa.Table, int]:
        """Return all rows, and their version."""
        attempts = 0
        while True:
            now = self.newest(table)
            try:
                return pa.concat_tables([table.no_rows, *self.batches(table, version=now)]), now.number
            except FileNotFoundError:  # it was cleaned up meanwhile, others have its rows
                attempts += 1
                if attempts == _ATTEMPTS:
                    raise
                logger.info("%s was cleaned up while it was read: reading it again", table.name)

    def batches(
        self,
        table: Table,
        names: Sequence[str] | None = None,
        version: Version | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the rows of *table* now or at a *version*, a bounded number at a time, in no order; of columns *names*.

        Raises FileNotFoundError where files were cleaned up meanwhile: then start over.
        """
        wanted = list(names or table.names)
        needed = {*wanted, *(needed_of(table) if self.names is not None else ())}
        schema = pa.schema([each for each in table.arrow_schema if each.name in needed])
        found = [
            (data_path(self.path(table), each.path), each.size) for each in (version or self.newest(table)).files()
        ]
        for piece in pieces_of(read_in_pieces(self.files, found, schema.names), schema):
            yield self.inside(table, piece).select(wanted)

    def segments(self, table: Table) -> Segments:
        """Return the files of *table*, ``record_runs``, sealed or not; topics in them are streams."""

        def listed() -> tuple[int, list[tuple[str, DataFile]]]:
            now = self.newest(table)
            return now.number, [(data_path(self.path(table), each.path), each) for each in now.files()]

        def stream_of(cluster: str, topic: str) -> str:
            return self.names.inside(cluster, topic) if self.names is not None else topic

        return Segments(self.files, listed, partial(self.inside, table), stream_of)

    def newest(self, table: Table) -> Version:
        """Return *table* as it is now.

        Raises TableError where its rows are not those of its files, as with deletion vectors, which a user may have
        enabled.
        """
        now = self.log(table).newest()
        if hidden_by := now.hidden_by:
            names, path = ", ".join(sorted(hidden_by)), self.path(table)
            raise TableError(
                f"{path}: its rows are not those of its files, by {names}; give tables.root another place; or, against "
                f"deletionVectors, run in Spark: ALTER TABLE delta.`{path}` SET TBLPROPERTIES "
                f"('delta.enableDeletionVectors' = 'false') and REORG TABLE delta.`{path}` APPLY (PURGE)"
            )
        return now

    # Following

    def version(self, table: Table) -> int:
        """Return the table's latest version."""
        return self.log(table).newest().number

    def read_added(self, table: Table, after: int, until: int) -> pa.Table:
        """Return the rows appended by versions in ``(after, until]``, in no order.

        Raises FileNotFoundError where retention has overtaken the reader: then read the whole table.
        """
        return self.added(table, after, until).rows

    def added(self, table: Table, after: int, until: int) -> Added:
        """Return the same, and whether any of these versions has removed files."""
        entries = self.log(table).entries(after, until)
        found = read_added_rows(self.files, self.path(table), entries, table.arrow_schema)
        return found._replace(rows=self.inside(table, found.rows))

    def rows_since(self, table: Table, known: int | None) -> tuple[pa.Table, int]:
        """Return the rows appended after the version *known*, all rows for None; and the present version.

        Where retention has overtaken the reader, or the table was set back, all rows come again: rows that are read
        twice have to change nothing.
        """
        if known is not None:
            try:
                until = self.version(table)
                if until >= known:
                    return self.read_added(table, known, until), until
            except FileNotFoundError:
                logger.info("%s was compacted and cleaned up since it was last read: reading all of it", table.name)
        return self._read_whole(table)

    # Names

    def inside(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return rows of the table with streams in the place of topics.

        Answers from when names meant something else are left out: they were written to another topic at the target.
        """
        if self.names is None:
            return rows
        if not self.names.is_same and (cluster := cluster_of(table)):
            rows = renamed(rows, cluster, self.names.inside)
        return answered_as_now(rows, self.names) if table in ANSWERS else rows

    def outside(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return rows with streams as rows of the table."""
        cluster = cluster_of(table)
        if self.names is None or self.names.is_same or cluster is None:
            return rows
        return renamed(rows, cluster, self.names.outside)

    # Writing

    def append(
        self,
        table: Table,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: Sequence[DataFile] = (),
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Append *rows* and files that tasks have *written*, once for each *writer*: a repeated version is skipped.

        *writer* is (application id, version). The ids have to change with the checkpoint they come from, or every write
        would count as a repetition. The log's entry makes the rows visible, all or none. A file without one, left by a
        crash in between, is never read, and deleted by maintenance. Raises TableError where the
        table cannot be written, and TimeoutError where a file would be too old when it gets its entry. *check* is
        called with the table as it is just before the entry, and may raise.
        """
        added = [*self._write(table, rows), *written]
        if not added:
            return

        def decide(now: Version) -> Change | None:
            check()
            return None if writer is not None and now.has_written(writer) else Change(added, writer=writer)

        self.enter(table, decide)

    def replace(self, table: Table, rows: pa.Table) -> None:
        """Replace all rows of *table* with *rows*; readers see the old ones or the new ones."""
        added = self._write(table, rows)
        self.enter(table, lambda now: Change(added, now.files()))

    def enter(self, table: Table, decide: Callable[[Version], Change | None]) -> None:
        """Enter what *decide* returns for *table* as it is, see :meth:`TableLog.commit`."""
        self._before_entry(self.path(table))
        self.log(table).commit(decide)

    def _write(self, table: Table, rows: pa.Table) -> list[DataFile]:
        """Write *rows* as a file, if there are any."""
        if not rows.num_rows:
            return []
        rows = self.outside(table, rows.select(table.names).cast(table.arrow_schema))
        return [write_rows(self.files, self.path(table), table.arrow_schema, [rows])]
