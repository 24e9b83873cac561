"""Delta tables filled as the jobs fill them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore


def checkpoint_every_tenth(spark: SparkSession, path: str) -> None:
    """Have a table's log get a checkpoint after ten versions instead of fifty."""
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.checkpointInterval' = '10')")


def append_all(tables: TableStore, rows: Mapping[Table, pa.Table]) -> None:
    """Add a version to each of the tables: the rows are added, or replace what is there."""
    tables.create(rows)
    for table, added in rows.items():
        if table.is_replaced:
            frame = tables.spark.createDataFrame(added.select(table.names).cast(table.arrow_schema))
            frame.write.format("delta").mode("overwrite").save(tables.path(table))
        else:
            tables.append(table, added)
