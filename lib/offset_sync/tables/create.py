"""Create Delta tables, whoever else is creating them at the same moment or was killed while doing so."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from offset_sync.tables.definition import Table
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.first_entry import create_local
from offset_sync.tables.delta.lock import table_lock
from offset_sync.tables.delta.properties import properties_of

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 10.0
"""So long another job may take from the table's folder to its first version."""


def create_table(spark: SparkSession, path: str, table: Table, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """Create *table* at *path* unless it is there.

    Between its folder and its first version a table is neither there nor can it be created. So what fails is tried
    again; what somebody killed in between has left there, and nothing else, is removed in the end. Of a table that is
    there the lock is not asked for: it may be held by a driver that was paused while it wrote.
    """
    if (own := HadoopFiles(spark).local(path)) is not None:
        create_local(own, table, properties_of(table))
    elif not DeltaTable.isDeltaTable(spark, path):
        create_elsewhere(spark, path, table, patience_seconds)


def create_elsewhere(spark: SparkSession, path: str, table: Table, patience_seconds: float) -> None:
    """Create *table* by Spark, on any Hadoop file system."""
    gives_up_at = time.monotonic() + patience_seconds
    is_cleared = False
    while not DeltaTable.isDeltaTable(spark, path):
        try:
            _build(spark, path, table)
        except Exception:
            if DeltaTable.isDeltaTable(spark, path):
                return
            if time.monotonic() < gives_up_at:
                time.sleep(_PAUSE_SECONDS)
            elif is_cleared or not _clear(spark, path):
                raise
            else:
                is_cleared = True
        else:
            return


def _build(spark: SparkSession, path: str, table: Table) -> None:
    builder = DeltaTable.createIfNotExists(spark).location(path).comment(table.comment)
    for column in table.columns:
        builder = builder.addColumn(column.name, column.type, comment=column.comment)
    for key, value in properties_of(table).items():
        builder = builder.property(key, value)
    if table.cluster_by:
        builder = builder.clusterBy(*table.cluster_by)
    builder.execute()


def add_later_columns(spark: SparkSession, path: str, table: Table, known: Collection[str]) -> None:
    """Add to the table at *path*, which has the columns *known*, those of *table* that came with a later version.

    Old files are left as they are: their rows have null there. Who appends meanwhile does it once more.
    """
    with table_lock(HadoopFiles(spark).local(path)):
        _add_columns(spark, path, table, known)


def _add_columns(spark: SparkSession, path: str, table: Table, known: Collection[str]) -> None:
    lacking = [column for column in table.columns if column.name in {*table.later} - {*known}]
    for column in lacking:
        logger.info("%s: adding the column %s", table.name, column.name)
        comment = column.comment.replace("\\", "\\\\").replace("'", "\\'")
        try:
            spark.sql(
                f"ALTER TABLE delta.`{path.replace('`', '``')}` ADD COLUMNS "
                f"(`{column.name}` {column.type} COMMENT '{comment}')"
            )
        except Exception:
            # Another job, which starts at the same moment, may have added it.
            if column.name not in DeltaTable.forPath(spark, path).toDF().columns:
                raise


def _clear(spark: SparkSession, path: str) -> bool:
    """Remove the folder of a table that has no version; return False, and touch nothing, where it holds any data."""
    files = HadoopFiles(spark)
    # Delta writes a version under a hidden name and renames it; only such a file may be left over.
    if not files.exists(path) or not all(name.startswith(".") for name in files.names_below(path)):
        return False
    logger.warning("%s: removed what a job that was killed while creating the table has left", path)
    return files.delete_folder(path)
