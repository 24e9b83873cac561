"""The tables as jobs and commands ask for them, whoever reads and writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Protocol

import pyarrow as pa

from offset_sync.tables.catalog import TABLES
from offset_sync.tables.definition import Table
from offset_sync.tables.files import AtLeast, Files
from offset_sync.tables.sorted_files import Block


class Tables(Protocol):
    """The Delta tables under one root; threads may share it.

    :class:`offset_sync.tables.store.TableStore` has them by Spark's JVM, on any Hadoop file system;
    :class:`offset_sync.tables.local_store.LocalTables` without one, on this machine's disk. Both read what the other
    has written, and each respects what the other has entered for a writer.
    """

    @property
    def files(self) -> Files:
        """The file system that the tables lie on."""

    def path(self, table: Table) -> str:
        """Return where *table* lies."""

    def create(self, tables: Iterable[Table] = TABLES) -> None:
        """Create every table that does not exist yet; on a local disk mend what a power failure has left of a log.

        Raises TableError, with what to do, where that would lose rows.
        """

    def all_rows(self, table: Table) -> pa.Table:
        """Return all rows of *table* as it is now."""

    def batches(
        self,
        table: Table,
        names: Sequence[str] | None = None,
        at_least: AtLeast | None = None,
        *,
        encoded: bool = False,
    ) -> Iterator[pa.Table]:
        """Yield the rows of *table* as it is now, a bounded number at a time, in no order; of *names* these columns.

        *at_least* leaves out stretches without any value so large; errs to keeping. *encoded* is for a table larger
        than memory: file by file, and texts by their dictionaries. Raises FileNotFoundError where files were cleaned
        up meanwhile: then begin anew.
        """

    def blocks(self, table: Table, names: Sequence[str], opened: ExitStack) -> Iterator[pa.Table | Block]:
        """Yield the same for a table larger than memory, of which sorted files are read block by block, when asked.

        Until *opened* is closed. See :mod:`offset_sync.tables.sorted_files`.
        """

    def rows_where(self, table: Table, values: Mapping[str, str | int]) -> pa.Table:
        """Return the rows of *table* that have these *values*, as it is now."""

    def append(self, table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        """Append *rows*, once for each *writer* (application id, version): a repeated version is left out."""

    def replace(self, table: Table, rows: pa.Table) -> None:
        """Put *rows* in the place of all that *table* holds; readers see the old ones or the new ones."""

    def version(self, table: Table, known: int | None = None) -> int:
        """Return the table's latest version; next to nothing from a version that is *known*."""

    def read_added(self, table: Table, after: int, until: int) -> pa.Table:
        """Return the rows appended by versions in ``(after, until]``, in no order.

        Raises FileNotFoundError where retention has overtaken the reader: then read the whole table.
        """

    def rows_since(self, table: Table, known: int | None, until: int) -> pa.Table:
        """Return what was appended after the version *known*, up to *until*; all rows for None.

        Where retention has overtaken the reader all rows come again: what is read twice has to change nothing.
        """
