"""The rows of a micro-batch are the same, whether tasks or the driver work on its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from offset_sync.ingest.checkpoint import DRIVER_MAX_RECORDS
from offset_sync.ingest.map_batches import in_its_share, map_batches

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


def test_every_cluster_has_its_share_of_the_slots(spark: SparkSession) -> None:
    slots = spark.sparkContext.defaultParallelism
    for clusters, tasks in ((1, slots), (slots, 1), (100, 1)):
        assert in_its_share(spark.range(0, 100, 1, 100), clusters).rdd.getNumPartitions() == tasks
