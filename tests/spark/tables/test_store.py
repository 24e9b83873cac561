"""The tables as Spark and others find them: what they say of themselves, and that all read the same rows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from builders.claims import claims, epochs
from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import ALL_TABLES, DRIVERS, TABLES
from offset_sync.tables.definition import Column, Table
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore

EXAMPLES = {
    "string": "grün" * 100,
    "bigint": 2**62,
    "int": 7,
    "double": 0.1,
    "boolean": True,
    "binary": b"\x00\xff",
    "timestamp": datetime(2026, 11, 21, 9, 30, 0, 123456, timezone.utc),
}
# The first table, and each that has a column of another type than those before.
OF_EVERY_TYPE = [
    table
    for number, table in enumerate(TABLES)
    if {column.type for column in table.columns} - {column.type for each in TABLES[:number] for column in each.columns}
]


def read(spark: SparkSession, tables: TableStore, table: Table) -> DataFrame:
    return spark.read.format("delta").load(tables.path(table))


def row_of(table: Table) -> pa.Table:
    row = {column.name: EXAMPLES[column.type] for column in table.columns}
    return pa.Table.from_pylist([row], table.arrow_schema)


def test_every_table_has_the_columns_types_and_comments_of_the_contract_and_all_read_the_same_rows(
    spark: SparkSession, tables: TableStore
) -> None:
    tables.create(ALL_TABLES)
    for table in ALL_TABLES:
        fields = read(spark, tables, table).schema
        found = [Column(each.name, each.dataType.simpleString(), each.metadata["comment"]) for each in fields]
        assert found == [*table.columns]
    for table in OF_EVERY_TYPE:
        delta = DeltaTable(tables.path(table))
        (detail,) = spark.sql(f"DESCRIBE DETAIL delta.`{tables.path(table)}`").collect()
        assert (detail["description"], detail["minReaderVersion"]) == (table.comment, 1)
        assert detail["properties"]["delta.appendOnly"] == str(table.is_append_only).lower()
        tables.append(table, row_of(table))
        written = row_of(table).to_pylist()
        assert read(spark, tables, table).select(*table.names).toArrow().to_pylist() == written
        delta.update_incremental()
        assert delta.to_pyarrow_table().select(table.names).to_pylist() == written
        by_duckdb = duckdb.sql("SELECT * FROM read_parquet($1)", params=[delta.file_uris()]).to_arrow_table()
        names = [column.name for column in table.columns if column.type != "timestamp"]
        assert by_duckdb.select(names).to_pylist() == row_of(table).select(names).to_pylist()


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
