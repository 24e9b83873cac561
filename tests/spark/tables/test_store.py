"""The tables as Spark and others find them: what they say of themselves, and that all read the same rows."""

from __future__ import annotations

from datetime import datetime, timezone

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from offset_sync.tables.catalog import ALL_TABLES, TABLES
from offset_sync.tables.definition import Column, Table
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
