"""Where the time of indexing goes: the same topic read by Spark with one step more each time, and then dropped."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from offset_sync.config import Config, load_config
from offset_sync.ingest.kafka_source import read_whole_records, with_mirror_headers
from offset_sync.ingest.map_batches import in_its_share, to_sql
from offset_sync.ingest.run_builder import CUT_SCHEMA, RunBuilder, StreamIdentities
from offset_sync.jobs.spark_session import open_session
from offset_sync_demo.story.jobs import REPOSITORY

PLAIN = ["topic", "partition", "offset", "timestamp"]
CLUSTERS = 2


def measure_stages(config_file: Path, counted: int) -> list[dict[str, Any]]:
    """Return the rate of every stage over the last *counted* records at least; what comes before warms up."""
    jars = ",".join(str(jar) for jar in sorted((REPOSITORY / "jars" / "spark").glob("*.jar")))
    java = "spark.driver.extraJavaOptions=-XX:+UseParallelGC"  # as spark-submit.sh gives index_records
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {jars} --driver-memory 2g --conf {java} pyspark-shell"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # the workers have to find count
    config, spark = load_config(config_file), open_session("stages", clusters=CLUSTERS)
    try:
        return [{"what": what, "records_per_s": round(rate(make(), counted))} for what, make in stages(spark, config)]
    finally:
        spark.stop()


def stages(spark: SparkSession, config: Config) -> list[tuple[str, Callable[[], DataFrame]]]:
    """Return the steps from Kafka to runs, by name."""
    cutter = RunBuilder(StreamIdentities("dc1", config.origins(), config.mirror.offset_encoding), lambda _topic: False)

    def whole(*columns: str) -> DataFrame:
        return in_its_share(read_whole_records(spark, config, "dc1").select(*columns), CLUSTERS)

    def picked() -> DataFrame:
        return in_its_share(with_mirror_headers(read_whole_records(spark, config, "dc1"), config.mirror), CLUSTERS)

    return [
        ("Spark reads, headers as they are", lambda: whole(*PLAIN, "headers")),
        ("and picks the two headers", picked),
        ("and gives them to Python", lambda: picked().mapInArrow(count, "records bigint")),
        ("and cuts runs", lambda: picked().mapInArrow(cutter, to_sql(CUT_SCHEMA))),
    ]


def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the number of rows, and nothing else of them."""
    yield pa.record_batch({"records": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})


def rate(records: DataFrame, counted: int) -> float:
    """Read everything in micro-batches and return records a second of the last ones."""
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = records.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        batches = [batch for batch in query.recentProgress if batch["numInputRows"]]
    rows = seconds = 0.0
    for batch in reversed(batches):
        if rows < counted:
            rows += batch["numInputRows"]
            seconds += batch["durationMs"]["addBatch"] / 1000
    return rows / seconds
