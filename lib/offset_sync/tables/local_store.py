"""Create, append to and read the Delta tables on this machine's disk, without a JVM."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa

from offset_sync.tables.catalog import TABLES
from offset_sync.tables.definition import Table
from offset_sync.tables.delta import delta_rs
from offset_sync.tables.delta.first_entry import create_local
from offset_sync.tables.delta.local_files import LocalFiles
from offset_sync.tables.delta.log_repair import repair_log
from offset_sync.tables.delta.properties import properties_of
from offset_sync.tables.files import AtLeast, read_in_pieces
from offset_sync.tables.following import FollowedTables, pieces_of, with_values
from offset_sync.tables.topic_names import TopicNames

logger = logging.getLogger(__name__)
_ENTRY = re.compile(r"(\d{20})\.json")
_ATTEMPTS = 5


class LocalTables(FollowedTables):
    """The Delta tables in one folder, see :class:`offset_sync.tables.protocol.Tables`.

    It appends to every table but ``record_runs`` (``delta/delta_rs.py``).
    """

    files: LocalFiles

    def __init__(self, root: str, names: TopicNames | None = None) -> None:
        super().__init__(root, LocalFiles(), names)
        self._folder = self.files.local(self.root)

    def create(self, tables: Iterable[Table] = TABLES) -> None:
        """Create every table that does not exist yet; mend what a power failure has left of a log.

        Older ones get the columns that they have not got, but for ``record_runs``: that is left to the job that fills
        them. Raises TableError, with what to do, where that would lose rows.
        """
        if not self._folder.exists():
            logger.info("creating the tables below %s", self.root)
        for table in tables:
            repair_log(self._folder / table.name)
            create_local(self._folder / table.name, table, properties_of(table))
            if table.later and not table.cluster_by:
                delta_rs.add_columns(self._folder / table.name, table)

    def newest_version(self, table: Table) -> int:
        """Return the table's latest version; its whole log is listed for it."""
        names = self.files.names(f"{self.path(table)}/_delta_log")
        return max(int(found[1]) for name in names if (found := _ENTRY.fullmatch(name)))

    def all_rows(self, table: Table) -> pa.Table:
        """Return all rows of *table* as it is now."""
        return self._read_whole(
            table, lambda: pa.concat_tables([table.arrow_schema.empty_table(), *self.batches(table)])
        )

    def pieces(self, table: Table, schema: pa.Schema, at_least: AtLeast | None, *, encoded: bool) -> Iterator[pa.Table]:
        """Yield the rows of *table* as it is now; see :meth:`FollowedTables.batches`."""
        pieces = read_in_pieces(self.files, self.data_files(table), schema.names, at_least, encoded=encoded)
        yield from pieces_of(pieces, schema, encoded=encoded)

    def is_there(self, table: Table) -> bool:
        """Return whether *table* has been made."""
        return (self._folder / table.name / "_delta_log").is_dir()

    def repair(self) -> None:
        """Mend what a power failure has left of any log; raises TableError where that would lose rows.

        To be done before a version is remembered: an entry that is not whole is removed, and its number comes again.
        """
        for table in TABLES:
            repair_log(self._folder / table.name)

    def readable_by_spark_alone(self) -> list[str]:
        """Return the names of the tables of which files hold rows that are gone: somebody has used deletion vectors."""
        there = (table.name for table in TABLES if self.is_there(table))
        return [name for name in there if not delta_rs.has_all_rows(str(self._folder / name))]

    def data_files(self, table: Table) -> Sequence[str]:
        """Return where the files of *table* lie, as it is now."""
        return delta_rs.data_files(str(self._folder / table.name))

    def rows_where(self, table: Table, values: Mapping[str, str | int]) -> pa.Table:
        """Return the rows of *table* that have these *values*, as it is now."""
        wanted = partial(with_values, values=values)
        return self._read_whole(table, lambda: _together(table, map(wanted, self.batches(table))))

    def _read_whole(self, table: Table, read: Callable[[], pa.Table]) -> pa.Table:
        """Return what *read* does; a file that was compacted and cleaned up meanwhile has others in its place."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return read()
            except FileNotFoundError:
                logger.info("%s was cleaned up while it was read: reading it anew", table.name)
        return read()

    def append(self, table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        """Append *rows*, once for each *writer* (application id, version): a repeated version is left out.

        Raises TableError where delta-rs cannot write to the table.
        """
        if rows.num_rows:
            named = self.outside(table, rows.select(table.names).cast(table.arrow_schema))
            delta_rs.append(self._folder / table.name, named, writer)

    def replace(self, table: Table, rows: pa.Table) -> None:
        """Put *rows* in the place of all that *table* holds; readers see the old ones or the new ones."""
        delta_rs.replace(self._folder / table.name, rows.select(table.names).cast(table.arrow_schema))


def _together(table: Table, batches: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables([table.arrow_schema.empty_table(), *batches])
