"""The checkpoint of a real query has the form that tests/unit/ingest/test_checkpoint.py writes by hand."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pyspark.sql import SparkSession

from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.tables.files import Files


def test_the_files_of_a_real_query_say_who_it_is_and_how_far_it_has_come(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's rate source speaks of its offsets otherwise, but the files around them are the same."""
    before_ms = int(time.time() * 1000) - 2000
    query = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 2)
        .load()
        .writeStream.format("memory")
        .queryName("form")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    checkpoint = Checkpoint(Files(), str(tmp_path))
    assert checkpoint.query_id() == query.id
    version, batch, end = (tmp_path / "offsets" / "0").read_text().split("\n")
    assert version == "v1"
    assert "batchTimestampMs" in json.loads(batch)
    assert isinstance(json.loads(end), dict)
    assert checkpoint.last_committed() == query.lastProgress["batchId"]
    sign_ms = checkpoint.last_sign_ms()
    assert sign_ms is not None
    assert before_ms < sign_ms < time.time() * 1000 + 2000
