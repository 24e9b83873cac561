"""The base tables and the views of ``tables.views`` in a Spark session, as they are now or were at a moment."""

from __future__ import annotations

from datetime import datetime, timezone

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import ALL_TABLES
from offset_sync.tables.definition import Table
from offset_sync.tables.views import VIEWS, Version, version_at


def register_views(spark: SparkSession, root: str, at: datetime | None = None) -> None:
    """Register every table under *root* and every view in *spark*, as temporary views of their own names.

    *at*: as the tables were at that moment. A table that does not exist, or did not then, has no rows. Raises
    TableError where there is no table at all, or the log of one does not reach back so far.
    """
    root = root.rstrip("/")
    existing = [table for table in ALL_TABLES if DeltaTable.isDeltaTable(spark, f"{root}/{table.name}")]
    if not existing:
        raise TableError(f"{root}: no Delta tables there; give tables.root of the configuration")
    for table in ALL_TABLES:
        rows = _rows(spark, f"{root}/{table.name}", table, at) if table in existing else _nothing(spark, table)
        rows.createOrReplaceTempView(table.name)
    for view in VIEWS:
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view.name} AS {view.sql}")


def _rows(spark: SparkSession, path: str, table: Table, at: datetime | None) -> DataFrame:
    reader = spark.read.format("delta")
    if at is not None:
        version = version_at(path, _history(spark, path), at)
        if version is None:
            return _nothing(spark, table)
        reader = reader.option("versionAsOf", version)
    return reader.load(path).select(*table.names)


def _history(spark: SparkSession, path: str) -> list[Version]:
    found = DeltaTable.forPath(spark, path).history().select("version", F.unix_micros("timestamp").alias("at"))
    return [Version(row["version"], datetime.fromtimestamp(row["at"] / 1e6, timezone.utc)) for row in found.collect()]


def _nothing(spark: SparkSession, table: Table) -> DataFrame:
    return spark.createDataFrame(table.no_rows)
