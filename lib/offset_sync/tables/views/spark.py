"""The base tables and the views of ``tables.views`` in a Spark session."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import ALL_TABLES
from offset_sync.tables.views import VIEWS


def register_views(spark: SparkSession, root: str) -> None:
    """Register every table under *root* and every view in *spark*, as temporary views of their own names.

    A table that does not exist has no rows. Raises TableError where there is no table at all.
    """
    paths = {table: f"{root.rstrip('/')}/{table.name}" for table in ALL_TABLES}
    found = {table: path for table, path in paths.items() if DeltaTable.isDeltaTable(spark, path)}
    if not found:
        raise TableError(f"{root}: no Delta tables there; give tables.root of the configuration")
    for table in ALL_TABLES:
        delta = spark.read.format("delta").load(found[table]).select(*table.names) if table in found else None
        rows = spark.createDataFrame(table.no_rows) if delta is None else delta
        rows.createOrReplaceTempView(table.name)
    for view in VIEWS:
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view.name} AS {view.sql}")
