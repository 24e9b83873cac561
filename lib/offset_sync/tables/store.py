"""Create, append to and read the Delta tables."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from offset_sync.tables.catalog import TABLES
from offset_sync.tables.create import add_later_columns, create_table
from offset_sync.tables.definition import Table, fitted, fitted_but_texts
from offset_sync.tables.delta.append import DeltaAppender
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.log_repair import repair_log
from offset_sync.tables.delta.log_store import check_log_store
from offset_sync.tables.delta.replace import DeltaReplacer
from offset_sync.tables.delta.transaction_log import latest_version, read_added_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

logger = logging.getLogger(__name__)
_FEW_FILES, _FEW_LOCAL_FILES = 50, 500
_FEW_BYTES = 16 << 20
"""A table of so few files and bytes is read file by file: some ms for each on a local disk, more elsewhere, and
9 s (25 s on a busy machine) for the first query of a Delta table in a JVM, however small."""


class TableStore:
    """The Delta tables under one root, of one session; for *before_entry* see :class:`DeltaAppender`."""

    def __init__(
        self, spark: SparkSession, root: str, before_entry: Callable[[str], None] = lambda _path: None
    ) -> None:
        self.spark = spark
        self.root = root.rstrip("/")
        self._appender, self._replacer = DeltaAppender(spark, before_entry), DeltaReplacer(spark)
        self._files = HadoopFiles(spark)

    def path(self, table: Table) -> str:
        """Return where *table* lies."""
        return f"{self.root}/{table.name}"

    def create(self, tables: Iterable[Table] = TABLES) -> None:
        """Create every table that does not exist yet, and give older ones the columns that they have not got.

        On a local disk mend what a power failure has left of a log.

        Raises TableError, with what to do, where that would lose rows, and PlatformError where drivers could overwrite
        each other's commits.
        """
        check_log_store(self.spark, self.root)
        if not self._files.exists(self.root):
            logger.info("creating the tables below %s", self.root)
        for table in tables:
            if (own := self._files.local(self.path(table))) is not None:
                repair_log(own)
            create_table(self.spark, self.path(table), table)
            if table.later:
                known = self._appender.kernel.newest(self.path(table)).column_names
                add_later_columns(self.spark, self.path(table), table, known)

    def read(self, table: Table) -> DataFrame:
        """Return *table* as it is now; a small one as rows that the driver holds."""
        held = self._held(table)
        return self._by_spark(table) if held is None else self.spark.createDataFrame(held)

    def all_rows(self, table: Table) -> pa.Table:
        """Return all rows of *table* as it is now; costs no job where the table is small."""
        held = self._held(table)
        return self._by_spark(table).toArrow() if held is None else held

    def batches(self, table: Table) -> Iterator[pa.Table]:
        """Yield all rows of *table* as it is now, in pieces of some hundred thousand and in no order; costs no job.

        Columns of texts may be encoded by dictionaries. Only where single rows of files were deleted, which nothing
        here does, all come at once. Raises FileNotFoundError where files were cleaned up meanwhile: then begin anew.
        """
        kernel = self._appender.kernel
        found = kernel.data_files(kernel.newest(self.path(table)), most=sys.maxsize)
        if found is None:
            yield self._by_spark(table).toArrow()
            return
        for path in found:
            for part in self._files.parquet_parts(path, table.names):
                yield fitted_but_texts(part, table.arrow_schema)

    def _by_spark(self, table: Table) -> DataFrame:
        found = self.spark.read.format("delta").load(self.path(table))
        for column in (each for each in table.columns if each.name in {*table.later} - {*found.columns}):
            found = found.withColumn(column.name, F.lit(None).cast(column.type))
        return found.select(*table.names)

    def _held(self, table: Table) -> pa.Table | None:
        """Return all rows of a small table; None for a large one."""
        kernel, is_local = self._appender.kernel, self._files.local(self.root) is not None
        most = _FEW_LOCAL_FILES if is_local else _FEW_FILES
        found = kernel.data_files(kernel.newest(self.path(table)), most, _FEW_BYTES)
        if found is None:
            return None
        try:
            parts = [fitted(self._files.read_parquet(each, table.names), table.arrow_schema) for each in found]
        except FileNotFoundError:  # compacted and cleaned up since; Spark looks at the table anew
            return None
        return pa.concat_tables([table.arrow_schema.empty_table(), *parts])

    def append(self, table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        """Append *rows*, once for each *writer* (application id, version): a repeated version is left out.

        The ids have to change with the checkpoint they come from, or every write would be taken for a repetition.
        """
        if rows.num_rows == 0:
            return
        self._appender.append(self.path(table), rows.select(table.names).cast(table.arrow_schema), writer)

    def replace(self, table: Table, rows: pa.Table) -> None:
        """Put *rows* in the place of all that *table* holds; readers see the old ones or the new ones."""
        self._replacer.replace(self.path(table), rows.select(table.names).cast(table.arrow_schema))

    def rows_where(self, table: Table, values: Mapping[str, str | int]) -> pa.Table:
        """Return the rows of *table* that have these *values*, as it is now."""
        held = self._held(table)
        if held is None:
            large = self._by_spark(table)
            for name, value in values.items():
                large = large.where(F.col(name) == F.lit(value))
            return large.toArrow()
        for name, value in values.items():
            held = held.filter(pc.equal(held.column(name), value))
        return held

    def version(self, table: Table, known: int | None = None) -> int:
        """Return the table's latest version; costs no job, and next to nothing from a version that is *known*."""
        if known is not None:
            try:
                return latest_version(self._files, self.path(table), known)
            except FileNotFoundError:
                logger.info("%s was cleaned up since it was last read", table.name)
        return self._appender.kernel.newest(self.path(table)).version

    def read_added(self, table: Table, after: int, until: int) -> pa.Table:
        """Return the rows appended by versions in ``(after, until]``, in no order; costs no job.

        Raises FileNotFoundError where retention has overtaken the reader: then read the whole table.
        """
        return read_added_rows(self._files, self.path(table), after, until, table.arrow_schema)

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
