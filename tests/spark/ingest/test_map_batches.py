"""The rows of a micro-batch are the same, whether tasks or the driver work on its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from offset_sync.ingest.checkpoint import DRIVER_MAX_RECORDS
from offset_sync.ingest.commit_batch import DECODED_SCHEMA
from offset_sync.ingest.map_batches import in_its_share, map_batches, to_sql
from offset_sync.ingest.run_builder import CUT_SCHEMA

PLACES = pa.schema([("place", pa.int64()), ("process", pa.string())])


def marked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every second record, and whether it was a task that saw it."""
    from pyspark import TaskContext

    where = "driver" if TaskContext.get() is None else "task"
    for batch in batches:
        places = batch.column("id").filter(pc.equal(pc.bit_wise_and(batch.column("id"), 1), 0))
        yield pa.RecordBatch.from_arrays([places, pa.repeat(where, len(places))], schema=PLACES)


@pytest.mark.parametrize(("at_most", "where"), [(DRIVER_MAX_RECORDS, "driver"), (DRIVER_MAX_RECORDS + 1, "task")])
def test_few_records_are_worked_on_in_the_driver_and_all_of_them_in_order(
    spark: SparkSession, at_most: int, where: str
) -> None:
    found = map_batches(spark.range(0, 1000, 1, 4), marked, PLACES, 1, at_most)
    assert found.schema == PLACES
    assert found.column("place").to_pylist() == list(range(0, 1000, 2))
    assert set(found.column("process").to_pylist()) == {where}


@pytest.mark.parametrize("at_most", [0, DRIVER_MAX_RECORDS + 1])
def test_no_records_are_no_rows(spark: SparkSession, at_most: int) -> None:
    assert map_batches(spark.range(0), marked, PLACES, 2, at_most) == PLACES.empty_table()


@pytest.mark.parametrize("schema", [CUT_SCHEMA, DECODED_SCHEMA], ids=["runs", "commits"])
def test_what_tasks_return_is_of_the_same_types(spark: SparkSession, schema: pa.Schema) -> None:
    frame = spark.range(1).mapInArrow(lambda _: iter([pa.RecordBatch.from_pylist([], schema)]), to_sql(schema))
    assert frame.toArrow().schema == schema


def test_every_cluster_has_its_share_of_the_slots(spark: SparkSession) -> None:
    slots = spark.sparkContext.defaultParallelism
    for clusters, tasks in ((1, slots), (slots, 1), (100, 1)):
        assert in_its_share(spark.range(0, 100, 1, 100), clusters).rdd.getNumPartitions() == tasks
