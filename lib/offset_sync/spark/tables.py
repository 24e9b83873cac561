"""Create, append to and read the Delta tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from offset_sync.spark.creating import create_table
from offset_sync.spark.schemas import TABLES, Table

if TYPE_CHECKING:
    from collections.abc import Iterable


class Tables:
    """The Delta tables under one root, of one session."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        self.root = root.rstrip("/")

    def path(self, table: Table) -> str:
        """Return where *table* lies."""
        return f"{self.root}/{table.name}"

    def create(self, tables: Iterable[Table] = TABLES) -> None:
        """Create every table that does not exist yet."""
        for table in tables:
            create_table(self.spark, self.path(table), table)

    def read(self, table: Table) -> DataFrame:
        """Return *table* as it is now."""
        return self.spark.read.format("delta").load(self.path(table)).select(*table.names)

    def append(self, table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        """Append *rows*, once for each *writer* (application id, version): a repeated version is left out.

        The ids have to change with the checkpoint they come from, or every write would be taken for a repetition.
        """
        if rows.num_rows == 0:
            return
        columns = rows.select(table.names).cast(table.arrow_schema)
        frame = self.spark.createDataFrame(columns).coalesce(1)
        write = frame.write.format("delta").mode("append")
        if writer is not None:
            write = write.option("txnAppId", writer[0]).option("txnVersion", writer[1])
        write.save(self.path(table))

    def version(self, table: Table) -> int:
        """Return the table's latest version; costs one listing of the log, no job."""
        jvm: Any = self.spark._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, self.path(table))
        none = jvm.scala.Option.empty()
        return int(log.update(False, none, none).version())

    def read_added(self, table: Table, after: int, until: int) -> DataFrame:
        """Return the rows added by versions in ``(after, until]``, compactions left out."""
        changes = self.spark.read.format("delta").option("readChangeFeed", "true")
        changes = changes.option("startingVersion", after + 1).option("endingVersion", until)
        return changes.load(self.path(table)).where("_change_type = 'insert'").select(*table.names)
