"""A job that tries on the executors of a cluster what the real jobs need there, and writes down how each went."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))  # of the driver only
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import Plan
from fakes.unchecked import ONLY_SPARK
from offset_sync.ingest.commit_batch import DECODED_SCHEMA, decode_batches
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.map_batches import to_sql
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.jobs.log_format import start_logging
from offset_sync.jobs.runner import job_arguments
from offset_sync.jobs.spark_session import open_session
from offset_sync.model.values import OffsetWrite, Rule, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.lease import OpenFence
from offset_sync.sync.distributed_writer import TaskWrites
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.tables.catalog import INDEXED_TOPICS, LOG_INCARNATIONS, QUARANTINE, RECORD_RUNS
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks

LOGS = 4
PLACES = [TopicPartition("orders", number) for number in range(LOGS)]
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


def indexing(spark: SparkSession, folder: Path) -> object:
    """What large micro-batches of one record a run leave, and whose tasks have worked on each."""
    tables = TableStore(str(folder / "tables"))
    tables.create([RECORD_RUNS, QUARANTINE, INDEXED_TOPICS, LOG_INCARNATIONS])
    plan = Plan({}, [])
    own = SimpleNamespace(fetch_each=lambda wanted: {"Y": said_of(plan.ends[-1])})
    incarnations = IncarnationCheck(tables, {}, dict)
    logs = LogCheck("Y", Asked(own, own, dict), OriginCheck("Y", ["Y"]), incarnations)
    topics = SimpleNamespace(describe=lambda names: dict.fromkeys(names, MemoryTopic("id", LOGS)))
    builder = RunBuilder(StreamIdentities("Y", {"IDC-X": "X"}, "text"), str.isupper)
    indexer = RecordIndexer(tables, plan, builder, Checks(topics, logs, ONLY_SPARK), IndexProgress())
    collected: list[int] = []
    collect = ClassicFrame.toArrow
    ClassicFrame.toArrow = lambda self: [rows := collect(self), collected.append(rows.num_rows)][0]
    found = []
    for batch_id, count in enumerate((30_000, 90_000)):
        plan.ends.append(
            {place: end + count for place, end in plan.start_offsets(batch_id).items()} or dict.fromkeys(PLACES, count)
        )
        before = tasks_by_executor(spark)
        indexer(records(spark, batch_id, plan), batch_id)
        tasks = {name: now - before.get(name, 0) for name, now in tasks_by_executor(spark).items()}
        found.append({"collected": sum(collected), "tasks": tasks, "version": tables.version(RECORD_RUNS)})
        collected.clear()
    ClassicFrame.toArrow = collect
    return {"batches": found, "logs": contents(spark, tables)}


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


def records(spark: SparkSession, batch_id: int, plan: Plan) -> DataFrame:
    """Return the records of a micro-batch, every second of them a copy: each is a run."""
    (first,), (end,) = ({*each.values()} or {0} for each in (plan.start_offsets(batch_id), plan.end_offsets(batch_id)))
    names = [
        "'orders' AS topic",
        f"CAST(n DIV {end - first} AS int) AS partition",
        f"n % {end - first} + {first} AS offset",
    ]
    headers = ["IF(n % 2 = 0, CAST('IDC-X' AS binary), NULL) AS origin_header"]
    headers += ["IF(n % 2 = 0, CAST(CAST(n AS string) AS binary), NULL) AS offset_header"]
    numbers = spark.range(0, LOGS * (end - first), 1, LOGS).withColumnRenamed("id", "n")
    return numbers.selectExpr(*names, "timestamp_millis(n) AS timestamp", *headers)


def said_of(ends: dict[TopicPartition, int]) -> ClusterMetadata:
    found = {place: MemoryEnds(0, end) for place, end in ends.items()}
    return ClusterMetadata({"orders": MemoryTopic("id", LOGS)}, found)


def tasks_by_executor(spark: SparkSession) -> dict[str, int]:
    """Return how many tasks each executor has ended, by Spark's own count."""
    found = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    return {found.apply(n).id(): found.apply(n).completedTasks() for n in range(found.size())}


def contents(spark: SparkSession, tables: TableStore) -> object:
    """Return how many records the runs of each log have, and how many different offsets."""
    runs = spark.read.format("delta").load(tables.path(RECORD_RUNS)).where("length > 0")
    by_log = runs.groupBy("partition").agg(F.sum("length"), F.countDistinct("start_offset"), F.max("start_offset"))
    return sorted(map(list, by_log.collect()))


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
    checks = (code, decoding, committing, delta, indexing, repeated, kafka)
    found = {check.__name__: tried(check, session, found_in.parent) for check in checks}
    found_in.write_text(json.dumps(found), encoding="utf-8")
    session.stop()
