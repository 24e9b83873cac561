"""Create, append to and read the Delta tables."""

from __future__ import annotations

import logging
import sys
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from offset_sync.tables.catalog import TABLES
from offset_sync.tables.create import add_later_columns, create_table
from offset_sync.tables.definition import Table, fitted
from offset_sync.tables.delta.append import DeltaAppender
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.log_repair import repair_log
from offset_sync.tables.delta.log_store import check_log_store
from offset_sync.tables.delta.replace import DeltaReplacer
from offset_sync.tables.delta.task_files import WrittenFiles, write_by_tasks
from offset_sync.tables.files import AtLeast, read_in_pieces
from offset_sync.tables.following import FollowedTables, pieces_of, with_values
from offset_sync.tables.topic_names import CLUSTER_OF, TOPIC, TopicNames, is_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

logger = logging.getLogger(__name__)
_FEW_FILES, _FEW_LOCAL_FILES = 50, 500
_FILES_AT_ONCE = 32
_FEW_BYTES = 16 << 20
"""A table of so few files and bytes is read file by file: some ms for each on a local disk, more elsewhere, and
9 s (25 s on a busy machine) for the first query of a Delta table in a JVM, however small."""


class TableStore(FollowedTables):
    """The Delta tables under one root, of one session; for *before_entry* see :class:`DeltaAppender`."""

    def __init__(
        self,
        spark: SparkSession,
        root: str,
        before_entry: Callable[[str], None] = lambda _path: None,
        names: TopicNames | None = None,
    ) -> None:
        super().__init__(root, HadoopFiles(spark), names)
        self.spark = spark
        self._appender, self._replacer = DeltaAppender(spark, before_entry), DeltaReplacer(spark)

    def create(self, tables: Iterable[Table] = TABLES) -> None:
        """Create every table that does not exist yet, and give older ones the columns that they have not got.

        On a local disk mend what a power failure has left of a log.

        Raises TableError, with what to do, where that would lose rows, and PlatformError where drivers could overwrite
        each other's commits.
        """
        check_log_store(self.spark, self.root)
        if not self.files.exists(self.root):
            logger.info("creating the tables below %s", self.root)
        for table in tables:
            if (own := self.files.local(self.path(table))) is not None:
                repair_log(own)
            create_table(self.spark, self.path(table), table)
            if table.later:
                known = self._appender.kernel.newest(self.path(table)).column_names
                add_later_columns(self.spark, self.path(table), table, known)

    def read(self, table: Table) -> DataFrame:
        """Return *table* as it is now, with the names that topics have; a small one as rows that the driver holds."""
        held = self._held(table)
        return self._by_spark(table) if held is None else self.spark.createDataFrame(held)

    def all_rows(self, table: Table) -> pa.Table:
        """Return all rows of *table* as it is now; costs no job where the table is small."""
        held = self._held(table)
        return self.inside(table, self._by_spark(table).toArrow() if held is None else held)

    def pieces(self, table: Table, schema: pa.Schema, at_least: AtLeast | None, *, encoded: bool) -> Iterator[pa.Table]:
        """Yield the rows of *table* as it is now; see :meth:`FollowedTables.batches`."""
        found = self.data_files(table)
        if found is None:  # somebody has switched deletion vectors on, which Spark knows how to read
            yield self._by_spark(table).select(*schema.names).toArrow().cast(schema)
        elif encoded or self.files.local(self.root) is not None:
            pieces = read_in_pieces(self.files, found, schema.names, at_least, encoded=encoded)
            yield from pieces_of(pieces, schema, encoded=encoded)
        else:
            yield from self._pieces_by_spark(found, schema, at_least)

    def data_files(self, table: Table) -> Sequence[str] | None:
        """Return where the files of *table* lie, as it is now; None where rows of theirs are gone."""
        kernel = self._appender.kernel
        return kernel.data_files(kernel.newest(self.path(table)), sys.maxsize)

    def _pieces_by_spark(self, paths: Sequence[str], schema: pa.Schema, at_least: AtLeast | None) -> Iterator[pa.Table]:
        """Yield the rows of files that lie elsewhere: many are fetched at once, and those parts that are wanted."""
        for first in range(0, len(paths), _FILES_AT_ONCE):
            rows = self.spark.read.option("mergeSchema", "true").parquet(*paths[first : first + _FILES_AT_ONCE])
            if at_least is not None and at_least[0] in rows.columns:
                rows = rows.where(F.col(at_least[0]) >= F.lit(at_least[1]))
            yield fitted(rows.select(*[name for name in schema.names if name in rows.columns]).toArrow(), schema)

    def _by_spark(self, table: Table) -> DataFrame:
        found = self.spark.read.format("delta").load(self.path(table))
        for column in (each for each in table.columns if each.name in {*table.later} - {*found.columns}):
            found = found.withColumn(column.name, F.lit(None).cast(column.type))
        return found.select(*table.names)

    def _held(self, table: Table) -> pa.Table | None:
        """Return all rows of a small table; None for a large one."""
        kernel, is_local = self._appender.kernel, self.files.local(self.root) is not None
        most = _FEW_LOCAL_FILES if is_local else _FEW_FILES
        found = kernel.data_files(kernel.newest(self.path(table)), most, _FEW_BYTES)
        if found is None:
            return None
        try:
            parts = [fitted(self.files.read_parquet(each, table.names), table.arrow_schema) for each in found]
        except FileNotFoundError:  # compacted and cleaned up since; Spark looks at the table anew
            return None
        return pa.concat_tables([table.arrow_schema.empty_table(), *parts])

    def write_by_tasks(self, table: Table, frames: Sequence[DataFrame]) -> WrittenFiles | None:
        """Have the tasks of *frames* write their rows as files of *table*; nobody sees them before :meth:`append`."""
        files = self._appender.kernel.files
        return write_by_tasks(self.spark, files, self.path(table), frames) if frames else None

    def append(
        self,
        table: Table,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: WrittenFiles | None = None,
    ) -> None:
        """Append *rows* and what was *written*, once for each *writer*: a repeated version is left out.

        *writer* is (application id, version). The ids have to change with the checkpoint they come from, or every write
        would be taken for a repetition. Raises TimeoutError for files that were written too long ago to be entered.
        """
        if rows.num_rows == 0 and written is None:
            return
        rows = self.outside(table, rows.select(table.names).cast(table.arrow_schema))
        self._appender.append(self.path(table), rows, writer, written)

    def replace(self, table: Table, rows: pa.Table) -> None:
        """Put *rows* in the place of all that *table* holds; readers see the old ones or the new ones."""
        self._replacer.replace(self.path(table), rows.select(table.names).cast(table.arrow_schema))

    def rows_where(self, table: Table, values: Mapping[str, str | int]) -> pa.Table:
        """Return the rows of *table* that have these *values*, as it is now."""
        held = self._held(table)
        if held is not None:
            return with_values(self.inside(table, held), values)
        is_renamed = is_named(table, self.names) and TOPIC in values
        large = self._by_spark(table)
        for name, value in values.items():
            if name != TOPIC or not is_renamed:
                large = large.where(F.col(name) == F.lit(value))
        if is_renamed and self.names is not None:
            where, name_of, stream = CLUSTER_OF[table], self.names.outside, str(values[TOPIC])
            clusters = [row[0] for row in large.select(where).distinct().collect()]
            called = [(F.col(where) == each) & (F.col(TOPIC) == name_of(each, stream)) for each in clusters]
            large = large.where(reduce(Column.__or__, called, F.lit(False)))
        return with_values(self.inside(table, large.toArrow()), values)

    def newest_version(self, table: Table) -> int:
        """Return the table's latest version; its whole log is listed for it."""
        return self._appender.kernel.newest(self.path(table)).version
