"""A job that tries on the executors of a cluster what the real jobs need there, and writes down how each went."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.ingest.commit_batch import DECODED_SCHEMA, decode_batches
from offset_sync.ingest.map_batches import to_sql
from offset_sync.jobs.log_format import start_logging
from offset_sync.jobs.runner import job_arguments
from offset_sync.jobs.spark_session import open_session
from offset_sync.model.values import OffsetWrite, Rule
from offset_sync.state.lease import OpenFence
from offset_sync.sync.distributed_writer import TaskWrites
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.tables.catalog import QUARANTINE
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "captured-4.3.0.json"
UNREACHABLE = {"bootstrap.servers": "127.0.0.1:1"}


def where(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return, per task, where the code comes from and what the process is."""
    list(batches)
    import offset_sync.decode.consumer_offsets as code  # on the executor, not where this was pickled

    found = {
        "code": code.__file__,
        "prefix": sys.prefix,
        "log_format": os.environ.get("OFFSET_SYNC_LOG_FORMAT", ""),
        "executor": str(os.getppid()),
    }
    yield pa.RecordBatch.from_pylist([found])


def code(spark: SparkSession, folder: Path) -> object:
    """The place of the package that the executors import, from tasks enough for all of them."""
    schema = "code string, prefix string, log_format string, executor string"
    rows = spark.range(0, 16, 1, 8).mapInArrow(where, schema).distinct().collect()
    return [row.asDict() for row in rows]


def decoding(spark: SparkSession, folder: Path) -> object:
    """Groups in records that a real broker wrote, decoded by the executors."""
    records = json.loads(GOLDEN.read_text(encoding="utf-8"))["records"]
    rows = [
        (bytearray.fromhex(each["key"]), bytearray.fromhex(each["value"]) if each["value"] else None, 0, number)
        for number, each in enumerate(records)
    ]
    frame = spark.createDataFrame(rows, "key binary, value binary, partition int, offset bigint")
    decoded = frame.selectExpr("*", "timestamp_millis(0) AS timestamp").mapInArrow(
        decode_batches, to_sql(DECODED_SCHEMA)
    )
    return sorted(row.group_id for row in decoded.where("kind = 'commit'").select("group_id").distinct().collect())


def committing(spark: SparkSession, folder: Path) -> object:
    """What becomes of writes that executors send to a cluster which is not there."""
    by_tasks = TaskWrites(spark, OpenFence(), groups_per_task=2)
    commit = TargetWriter("dc9", UNREACHABLE, 10, 1.0, False, by_tasks=by_tasks)
    writes = [OffsetWrite(f"g{n}", "t", 0, n, None, Rule.SET, None) for n in range(8)]
    return sorted({f"{each.outcome.name}: {each.error}" for each in commit.write(writes)})


def delta(spark: SparkSession, folder: Path) -> object:
    """Rows of a Delta table that the executors have written."""
    path = str(folder / "table")
    spark.range(0, 100, 1, 4).write.format("delta").save(path)
    return spark.read.format("delta").load(path).count()


def repeated(spark: SparkSession, folder: Path) -> object:
    """How many rows a table has, and how many files are there, when tasks have died at their end and were repeated."""
    tables = TableStore(str(folder / "repeated"))
    tables.create([QUARANTINE])
    columns = [f"CAST(NULL AS {each.type}) AS {each.name}" for each in QUARANTINE.columns if each.name != "offset"]
    frame = spark.range(0, 100, 1, 4).selectExpr("id AS offset", *columns).select(*QUARANTINE.names)
    dying = frame.mapInArrow(died_once, QUARANTINE.ddl)
    tables.append(QUARANTINE, QUARANTINE.no_rows, ("q", 0), write_by_tasks(tables, QUARANTINE, [dying]))
    return sorted(row.offset for row in spark.read.format("delta").load(tables.path(QUARANTINE)).collect())


def died_once(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows; in the first attempt of a task, die at the end of them."""
    from pyspark import TaskContext

    yield from batches
    if TaskContext.get().attemptNumber() == 0:
        raise RuntimeError("died once")


def kafka(spark: SparkSession, folder: Path) -> object:
    """What Kafka's client on an executor says of brokers that are not there."""
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.max.block.ms": "500", "topic": "t"}
    spark.range(1).selectExpr("CAST(id AS string) AS value").write.format("kafka").options(**options).save()
    return "written"


def tried(check: Callable[[SparkSession, Path], object], spark: SparkSession, folder: Path) -> object:
    """Return what *check* found, or the text of what it died of."""
    try:
        return check(spark, folder)
    except Exception as problem:  # whatever is missing there shows here
        return f"died: {problem}"


if __name__ == "__main__":
    arguments = job_arguments("Try the executors.").parse_args()
    start_logging(arguments.log_format)
    found_in = Path(arguments.conf)
    session = open_session("probe")
    checks = (code, decoding, committing, delta, repeated, kafka)
    found = {check.__name__: tried(check, session, found_in.parent) for check in checks}
    found_in.write_text(json.dumps(found), encoding="utf-8")
    session.stop()
