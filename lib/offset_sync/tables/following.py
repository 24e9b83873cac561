"""What both kinds of store do alike: follow a table as it grows, by the entries of its log."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table, fitted, fitted_but_texts
from offset_sync.tables.delta.transaction_log import latest_version, read_added_rows
from offset_sync.tables.files import AtLeast, Files
from offset_sync.tables.sorted_files import Block, read_blocks
from offset_sync.tables.topic_names import (
    CLUSTER_OF,
    NEEDED_OF,
    TOPIC,
    TopicNames,
    answered_as_now,
    is_named,
    renamed,
)

logger = logging.getLogger(__name__)
_WORTH_A_BATCH = 100_000


class FollowedTables(ABC):
    """The tables under one root, see :class:`offset_sync.tables.protocol.Tables`.

    With *names* who asks knows streams, and rows have the names of topics at their clusters.
    """

    def __init__(self, root: str, files: Files, names: TopicNames | None = None) -> None:
        self.root, self.files, self.names = root.rstrip("/"), files, names

    def path(self, table: Table) -> str:
        """Return where *table* lies."""
        return f"{self.root}/{table.name}"

    @abstractmethod
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
        wanted = list(names or table.names)
        if not self._is_read_otherwise(table) or TOPIC not in wanted:
            return self.pieces(table, _schema(table, wanted), at_least, encoded=encoded)
        read = list(dict.fromkeys([*wanted, *NEEDED_OF[table]]))
        pieces = self.pieces(table, _schema(table, read), at_least, encoded=encoded)
        return (self.inside(table, piece).select(wanted) for piece in pieces)

    def blocks(self, table: Table, names: Sequence[str], opened: ExitStack) -> Iterator[pa.Table | Block]:
        """Yield the rows of *table*, blocks of those files that are sorted: to be read until *opened* is closed.

        Files say what logs are called there, so where streams have other names all comes as rows.
        """
        if self._is_read_otherwise(table) and not (self.names is not None and self.names.is_same):
            yield from self.batches(table, names, encoded=True)
            return
        schema = _schema(table, names)
        if (paths := self.data_files(table)) is None:
            yield from self.batches(table, names, encoded=True)
            return
        for each in read_blocks(self.files, paths, schema.names, opened):
            yield each.fitted(schema) if isinstance(each, Block) else fitted_but_texts(each, schema)

    @abstractmethod
    def data_files(self, table: Table) -> Sequence[str] | None:
        """Return where the files of *table* lie, as it is now; None: they cannot be read as they are."""

    def inside(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return rows as the table has them with streams in the place of topics.

        Answers that were given while names meant something else are left out: they stand elsewhere at the target.
        """
        if self.names is None or not self._is_read_otherwise(table):
            return rows
        found = rows if self.names.is_same else renamed(rows, CLUSTER_OF[table], self.names.inside)
        return answered_as_now(found, self.names) if table is OFFSET_TRANSLATIONS else found

    def outside(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return rows with streams as the table has them."""
        if self.names is None or not is_named(table, self.names):
            return rows
        return renamed(rows, CLUSTER_OF[table], self.names.outside)

    def _is_read_otherwise(self, table: Table) -> bool:
        """Return whether rows of *table* come in another way than they are stored: answers of other names do not."""
        is_of_answers = self.names is not None and table is OFFSET_TRANSLATIONS
        return is_of_answers or is_named(table, self.names)

    @abstractmethod
    def pieces(self, table: Table, schema: pa.Schema, at_least: AtLeast | None, *, encoded: bool) -> Iterator[pa.Table]:
        """Yield the same, of the columns of *schema*."""

    @abstractmethod
    def newest_version(self, table: Table) -> int:
        """Return the table's latest version, without a version to begin from."""

    def version(self, table: Table, known: int | None = None) -> int:
        """Return the table's latest version; costs no job, and next to nothing from a version that is *known*."""
        if known is not None:
            try:
                return latest_version(self.files, self.path(table), known)
            except FileNotFoundError:
                logger.info("%s was cleaned up since it was last read", table.name)
        return self.newest_version(table)

    def read_added(self, table: Table, after: int, until: int) -> pa.Table:
        """Return the rows appended by versions in ``(after, until]``, in no order; costs no job.

        Raises FileNotFoundError where retention has overtaken the reader: then read the whole table.
        """
        return self.inside(table, read_added_rows(self.files, self.path(table), after, until, table.arrow_schema))

    def rows_since(self, table: Table, known: int | None, until: int) -> pa.Table:
        """Return what was appended after the version *known*, up to *until*; all rows for None.

        Where retention has overtaken the reader all rows come again: what is read twice has to change nothing.
        """
        if known is not None:
            try:
                return self.read_added(table, known, until)
            except FileNotFoundError:
                logger.info("%s was compacted and cleaned up since it was last read: reading all of it", table.name)
        return self.all_rows(table)


def _schema(table: Table, names: Sequence[str]) -> pa.Schema:
    return pa.schema([table.arrow_schema.field(name) for name in names])


def with_values(rows: pa.Table, values: Mapping[str, str | int]) -> pa.Table:
    """Return those of *rows* that have these *values*."""
    for name, value in values.items():
        rows = rows.filter(pc.equal(rows.column(name), value))
    return rows


def pieces_of(pieces: Iterable[pa.Table], schema: pa.Schema, *, encoded: bool = False) -> Iterator[pa.Table]:
    """Yield *pieces* with the columns of *schema*, small ones together: whoever reads them has work with each.

    Pieces with texts *encoded* by dictionaries come as they are: each has dictionaries of its own.
    """
    if encoded:
        yield from (fitted_but_texts(piece, schema) for piece in pieces)
        return
    held, rows = list[pa.Table](), 0
    for piece in pieces:
        held.append(fitted(piece, schema))
        rows += piece.num_rows
        if rows >= _WORTH_A_BATCH:
            yield pa.concat_tables(held)
            held, rows = [], 0
    if rows:
        yield pa.concat_tables(held)
