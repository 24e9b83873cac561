"""Whatever is done to a table in Spark, our writer goes on; Spark reads what it has written, and goes on in turn."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from builders.claims import claims, epochs
from builders.runs_in_tables import NOW
from offset_sync.model.errors import TableError
from offset_sync.state.seal import seal
from offset_sync.tables.catalog import DRIVERS, RECORD_RUNS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore

HOUR = timedelta(hours=1)


def by_spark(spark: SparkSession, tables: TableStore) -> list[int]:
    return epochs(spark.read.format("delta").load(tables.path(DRIVERS)).toArrow())


def test_what_was_changed_in_spark_does_not_stop_a_writer_and_what_only_spark_reads_names_the_remedy(
    spark: SparkSession, tables: TableStore
) -> None:
    def alter(*statements: str) -> None:
        for statement in statements:
            spark.sql(statement.format(f"delta.`{tables.path(DRIVERS)}`"))

    known, maintainer = tables.version(DRIVERS), Maintainer(tables, HOUR)
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


def test_sealed_and_cut_files_are_read_by_spark(spark: SparkSession, tables: TableStore) -> None:
    maintainer = Maintainer(tables, HOUR)
    maintainer.prepare(RECORD_RUNS)
    known = {"cluster": "dc1", "length": 1, "origin": "dc1", "indexed_at": NOW}
    places = [{"topic": f"t{n % 3}", "partition": n % 2, "start_offset": n, "origin_start": n} for n in range(40)]
    rows = [known | place for place in places]
    for first in range(0, 40, 8):
        tables.append(RECORD_RUNS, pa.Table.from_pylist(rows[first : first + 8], RECORD_RUNS.arrow_schema))
    assert seal(tables, tables.segments(RECORD_RUNS), HOUR, least_rows=1) == 40
    maintainer.remove(RECORD_RUNS, lambda found: found["start_offset"].to_numpy() < 20)
    seal(tables, tables.segments(RECORD_RUNS), HOUR, least_rows=1)
    frame = spark.read.format("delta").load(tables.path(RECORD_RUNS))
    assert sorted(row.start_offset for row in frame.collect()) == list(range(20, 40))
    chosen = frame.where("topic = 't1' AND partition = 1").collect()
    assert sorted(row.start_offset for row in chosen) == [n for n in range(20, 40) if n % 3 == 1 and n % 2 == 1]
