"""Make jars/classes/spark.jsa: Spark's classes as the JVM has them in memory, so that a job starts in half the time.

See ``jvm_classes.py``. ``archive_options.py`` names it to drivers on this machine; no executor, no image has it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from archive_options import ARCHIVE, CONF_VARIABLE, EMPTY_CONF, archive_options
from bundle import build_zip
from jvm_classes import REPO, WARM_UP, Archive, say
from spark_options import split_options
from submit import build_command, without_other_driver

_SHORT_LIVED = ["--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
_PATIENCE_SECONDS = 120


def main() -> None:
    """Bring the archive up to date."""
    path = REPO / ARCHIVE
    archive = Archive("Class archive", path, path.parent, REPO / "jars" / "spark", Path(__file__))
    archive.bring_up_to_date(_environment)


def _environment() -> dict[str, str]:
    (REPO / EMPTY_CONF).mkdir(parents=True, exist_ok=True)
    build_zip(REPO / "lib" / "offset_sync", REPO / "dist" / "offset_sync.zip")
    words = ["--master", "local[2]", *_SHORT_LIVED, *archive_options(REPO, "ArchiveClassesAtExit")]
    environ = without_other_driver(os.environ, REPO)
    command = build_command(REPO, "sync_offsets", split_options(words), environ)
    return environ | command.environment | {CONF_VARIABLE: str(REPO / EMPTY_CONF)}


def warm_up() -> None:
    """Do in one JVM what the jobs do in theirs; return when it has ended, which is when it writes the archive."""
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

    from offset_sync.jobs.spark_session import open_session
    from offset_sync.tables.catalog import OFFSET_COMMITS
    from offset_sync.tables.delta.jvm import java
    from offset_sync.tables.store import TableStore

    say("starting Spark")
    spark = open_session("class archive")
    gateway: Any = SparkContext._gateway
    say("writing and reading a table")
    with tempfile.TemporaryDirectory() as folder:
        tables = TableStore(f"{folder}/tables")
        tables.create((OFFSET_COMMITS,))
        tables.append(OFFSET_COMMITS, pa.Table.from_pylist([{"cluster": "dc1"}], OFFSET_COMMITS.arrow_schema))
        spark.read.format("delta").load(tables.path(OFFSET_COMMITS)).groupBy("cluster").count().toArrow()

        say("streaming")

        def take(batch: DataFrame, _batch_id: int) -> None:
            batch.mapInArrow(lambda batches: batches, batch.schema).toArrow()

        rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        query = rate.writeStream.option("checkpointLocation", f"{folder}/checkpoint").foreachBatch(take).start()
        until = time.monotonic() + _PATIENCE_SECONDS
        while query.lastProgress is None and query.isActive and time.monotonic() < until:
            query.awaitTermination(1)
        query.stop()
        nobody = {"kafka.bootstrap.servers": "127.0.0.1:9", "subscribe": "x"}
        spark.readStream.format("kafka").options(**nobody).load().schema  # noqa: B018
        options = java("java.util.Properties")()
        options.put("bootstrap.servers", "127.0.0.1:9")
        java("org.apache.kafka.clients.admin.AdminClient").create(options).close()
        spark.stop()
    say("writing the archive")
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_PATIENCE_SECONDS)


if __name__ == "__main__":
    warm_up() if WARM_UP in sys.argv else main()
