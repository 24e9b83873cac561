"""The tables as Spark and others find them: what they say of themselves, and that all read the same rows."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from offset_sync.tables.catalog import ALL_TABLES, RECORD_RUNS, TABLES
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


def read(spark: SparkSession, tables: TableStore, table: Table = RECORD_RUNS) -> DataFrame:
    return spark.read.format("delta").load(tables.path(table))


def rows_of(table: Table, count: int = 1, **changed: Any) -> pa.Table:
    row = {column.name: EXAMPLES[column.type] for column in table.columns} | changed
    return pa.Table.from_pylist([row] * count, table.arrow_schema)


# The first table, and each that has a column of another type than those before.
OF_EVERY_TYPE = [
    table
    for number, table in enumerate(TABLES)
    if {column.type for column in table.columns} - {column.type for each in TABLES[:number] for column in each.columns}
]


def test_every_table_has_the_columns_types_and_comments_of_the_contract(
    spark: SparkSession, tables: TableStore
) -> None:
    tables.create(ALL_TABLES)
    for table in ALL_TABLES:
        fields = read(spark, tables, table).schema
        found = [Column(each.name, each.dataType.simpleString(), each.metadata["comment"]) for each in fields]
        assert found == [*table.columns]
    for table in OF_EVERY_TYPE:
        (detail,) = spark.sql(f"DESCRIBE DETAIL delta.`{tables.path(table)}`").collect()
        assert (detail["description"], detail["minReaderVersion"]) == (table.comment, 1)
        assert detail["properties"]["delta.appendOnly"] == str(table.is_append_only).lower()


def test_spark_delta_rs_and_duckdb_read_the_same_rows(spark: SparkSession, tables: TableStore) -> None:
    for table in OF_EVERY_TYPE:
        written = rows_of(table)
        tables.append(table, written)
        assert read(spark, tables, table).select(*table.names).toArrow().to_pylist() == written.to_pylist()
        delta = DeltaTable(tables.path(table))
        assert delta.to_pyarrow_table().select(table.names).to_pylist() == written.to_pylist()
        by_duckdb = duckdb.sql(
            "SELECT * FROM read_parquet($files)", params={"files": delta.file_uris()}
        ).to_arrow_table()
        assert by_duckdb.num_rows == 1
        assert set(by_duckdb.column_names) == set(table.names)
        names = [column.name for column in table.columns if column.type != "timestamp"]
        assert by_duckdb.select(names).to_pylist() == written.select(names).to_pylist()


def files_read(chosen: DataFrame) -> int:
    """Return how many files a DataFrame that was collected has read."""
    metrics = chosen._jdf.queryExecution().executedPlan().collectLeaves().head().metrics()
    return int(metrics.apply("numFiles").value())


def test_spark_skips_files_by_the_statistics_and_finds_what_it_looks_for(
    spark: SparkSession, tables: TableStore
) -> None:
    for start in range(5):
        tables.append(RECORD_RUNS, rows_of(RECORD_RUNS, topic=f"topic-{start}", start_offset=start))
    chosen = read(spark, tables).where((F.col("topic") == "topic-3") & (F.col("start_offset") > 2))
    assert [row.start_offset for row in chosen.collect()] == [3]
    assert files_read(chosen) == 1
    assert read(spark, tables).where("topic = 'topic-9'").count() == 0
