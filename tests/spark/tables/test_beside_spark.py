"""Whatever is done to a table in Spark, our writer goes on; Spark reads what it has written, and goes on in turn."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from builders.claims import claims, epochs
from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore


def by_spark(spark: SparkSession, tables: TableStore) -> list[int]:
    return epochs(spark.read.format("delta").load(tables.path(DRIVERS)).toArrow())


def test_what_was_changed_in_spark_does_not_stop_a_writer_and_what_only_spark_reads_names_the_remedy(
    spark: SparkSession, tables: TableStore
) -> None:
    def alter(*statements: str) -> None:
        for statement in statements:
            spark.sql(statement.format(f"delta.`{tables.path(DRIVERS)}`"))

    known, maintainer = tables.version(DRIVERS), Maintainer(tables, timedelta(hours=1))
    properties = "ALTER TABLE {{}} SET TBLPROPERTIES ('delta.{}')"
    for number, statement in enumerate(
        (
            properties.format("appendOnly' = 'false"),
            "DELETE FROM {} WHERE epoch = 1",
            "OPTIMIZE {}",
            "UPDATE {} SET pid = 3",
        )
    ):
        tables.append(DRIVERS, claims(number), ("query", number))
        alter(statement)
        tables.append(DRIVERS, claims(99), ("query", number))
        added, known = tables.rows_since(DRIVERS, known)
        assert epochs(added) == [number]
    tables.append(DRIVERS, claims(4, 5, 6), ("query", 4))
    assert by_spark(spark, tables) == epochs(tables.all_rows(DRIVERS)) == [0, 2, 3, 4, 5, 6]

    # Rows that Spark has only marked as gone do not come back.
    alter(properties.format("enableDeletionVectors' = 'true"), "DELETE FROM {} WHERE epoch = 5")
    for act in (tables.all_rows, maintainer.compact):
        with pytest.raises(TableError, match="by deletionVectors") as told:
            act(DRIVERS)
    for statement in str(told.value).partition("run in Spark: ")[2].split(" and "):
        spark.sql(statement)
    assert epochs(tables.all_rows(DRIVERS)) == [0, 2, 3, 4, 6]
    maintainer.compact(DRIVERS)
    tables.append(DRIVERS, claims(7))
    assert by_spark(spark, tables) == epochs(tables.all_rows(DRIVERS)) == [0, 2, 3, 4, 6, 7]
