"""What a checkpoint says, from files exactly as Spark 4.2 writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from offset_sync.spark.checkpoints import Checkpoint

BATCH = '{"batchWatermarkMs":0,"batchTimestampMs":1795256074434,"conf":{"spark.sql.shuffle.partitions":"4"}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two batches of a query on two topics; orders-1 appears in the second."""
    (tmp_path / "metadata").write_text('{"id":"9b7e2f5e-6b44-4c53-93a7-2d2a4c7ab0a4"}')
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    first = {"orders": {"0": 5}, "größe": {"0": 0}}
    (tmp_path / "sources" / "0" / "0").write_bytes(b"\0v1\n" + json.dumps(first).encode())
    ends = [{"orders": {"0": 9}, "größe": {"0": 0}}, {"orders": {"0": 12, "1": 3}, "größe": {"0": 4_000_000_000}}]
    for batch_id, end in enumerate(ends):
        (tmp_path / "offsets" / str(batch_id)).write_text(f"v1\n{BATCH}\n{json.dumps(end)}")
    return tmp_path


def test_the_id_of_the_query_is_read(spark: SparkSession, folder: Path) -> None:
    assert Checkpoint(spark, str(folder)).query_id() == "9b7e2f5e-6b44-4c53-93a7-2d2a4c7ab0a4"


def test_a_batch_starts_where_the_one_before_ended(spark: SparkSession, folder: Path) -> None:
    checkpoint = Checkpoint(spark, f"{folder}/")
    assert checkpoint.start_offsets(0) == {("orders", 0): 5, ("größe", 0): 0}
    assert checkpoint.end_offsets(0) == {("orders", 0): 9, ("größe", 0): 0}
    assert checkpoint.start_offsets(1) == checkpoint.end_offsets(0)
    assert checkpoint.end_offsets(1) == {("orders", 0): 12, ("orders", 1): 3, ("größe", 0): 4_000_000_000}


def test_a_batch_has_at_most_as_many_records_as_offsets(spark: SparkSession, folder: Path) -> None:
    assert [Checkpoint(spark, str(folder)).record_limit(batch) for batch in (0, 1)] == [4, 3 + 3 + 4_000_000_000]


def test_a_path_may_name_its_file_system(spark: SparkSession, folder: Path) -> None:
    assert Checkpoint(spark, f"file://{folder}").start_offsets(1)["orders", 0] == 9


def test_a_batch_that_was_never_planned_is_an_error(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(Exception, match="offsets/2"):
        Checkpoint(spark, str(folder)).end_offsets(2)


def test_the_files_of_a_real_query_have_this_form(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's rate source speaks of its offsets otherwise, but the files around them are the same."""
    query = (
        spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
        .writeStream.format("memory").queryName("form").option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination(60)
    assert Checkpoint(spark, str(tmp_path)).query_id() == query.id
    version, batch, end = (tmp_path / "offsets" / "0").read_text().split("\n")
    assert version == "v1"
    assert "batchTimestampMs" in json.loads(batch)
    assert isinstance(json.loads(end), dict)
