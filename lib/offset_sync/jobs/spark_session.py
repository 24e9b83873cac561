"""The Spark session of every job, with the settings without which results would be silently wrong."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.conf import SparkConf
from pyspark.sql import SparkSession

from offset_sync.config import HIDDEN_NAMES, Config
from offset_sync.config.client_options import MSK_HANDLER
from offset_sync.jobs.process_end import LOG_FORMAT
from offset_sync.kafka.librdkafka import check_client
from offset_sync.model.errors import ConfigError, PlatformError
from offset_sync.spark import CHECKPOINT_FORMAT
from offset_sync.spark.jvm import default_file_system, jar_of, processors, start_jvm
from offset_sync.spark.platform import check_platform
from offset_sync.tables.catalog import TABLES
from offset_sync.tables.definition import Table
from offset_sync.tables.format import check_checkpoints
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_REQUIRED = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # The default offset reader omits internal topics: __consumer_offsets would read as empty, without an error.
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "false",
    # By default times are written as nanoseconds, which end in 2262; Kafka takes any number for a time.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark has a second format, which ingest/checkpoint.py does not read.
    "spark.sql.streaming.offsetLog.formatVersion": CHECKPOINT_FORMAT.removeprefix("v"),
}
_DEFAULTS = {
    "spark.scheduler.mode": "FAIR",
    # Results of tasks are in the driver's heap twice; two million runs of one record each were too much for 1 GiB. Not
    # lz4: Arrow's in Java is many times slower.
    "spark.sql.execution.arrow.compression.codec": "zstd",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
    # Appends of some hundred rows: two jobs each instead of four, a quarter less processor time (measured).
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "true",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.sql.streaming.minBatchesToRetain": "20",
    # For checkpoints and logs on a local disk: by default Hadoop starts a process for the permissions of every file
    # that it writes; this also omits the checksum file. Other file systems are unaffected.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # One consumer per partition and executor stays open: a closed one costs a connection and a metadata request.
    "spark.kafka.consumer.cache.capacity": "4096",
    "spark.redaction.regex": HIDDEN_NAMES,
    "spark.sql.redaction.options.regex": HIDDEN_NAMES,
}
_EVERY_CORE = "local[*]"
_MOST_SLOTS = 32
"""The limit above the number of cores; each slot may hold 20 MiB of fetched records in the driver's heap."""


def open_session(name: str, *, reads_internal_topics: bool = False, clusters: int = 1) -> SparkSession:
    """Return the session of this application; what ``spark-submit --conf`` sets wins over our defaults.

    *reads_internal_topics* switches to the offset reader that sees ``__consumer_offsets``. It is one setting for the
    whole session, so a job reads either internal topics or topics by pattern. On ``local[*]`` each of *clusters* gets
    as many task slots as there are cores, so that its share (``ingest/kafka_source.py``) is enough for all of them.
    Raises PlatformError, in one line, if Spark, Delta or librdkafka has an unsupported version.
    """
    if os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED"):
        raise ConfigError(
            ["SPARK_REMOTE is set: Spark Connect runs foreachBatch in another process; unset it and use spark-submit"]
        )
    began, remarks = time.monotonic(), check_client()
    logger.info("starting Spark; this takes some seconds")
    # First: without a JVM the options of spark-submit are not read yet, and the defaults below would win over them.
    start_jvm()
    for remark in [*remarks, *check_platform()]:
        logger.warning("%s", remark)
    conf = SparkConf()
    conf.setIfMissing("spark.app.name", name)
    for key, value in _DEFAULTS.items():
        conf.setIfMissing(key, value)
    for key, value in _REQUIRED.items():
        conf.set(key, value)
    if log_format := os.environ.get(LOG_FORMAT):
        conf.setIfMissing(f"spark.executorEnv.{LOG_FORMAT}", log_format)
    conf.setIfMissing("spark.master", _EVERY_CORE)
    conf.set("spark.master", with_slots(str(conf.get("spark.master")), processors(), clusters))
    if not reads_internal_topics:
        # Otherwise the size of a batch to Python is summed again for every row; rows of the index are small.
        conf.setIfMissing("spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1))
    reader = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    conf.set(reader, str(reads_internal_topics).lower())
    on_interrupt = signal.getsignal(signal.SIGINT)
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)  # Spark's own would raise at any point
    spark.conf.set(reader, str(reads_internal_topics).lower())
    logger.info("Spark %s started in %.0f s", spark.version, time.monotonic() - began)
    return spark


@contextmanager
def opened_tables(
    config: Config, job: str, *more: Table, reads_internal_topics: bool = False, clusters: int = 1
) -> Iterator[tuple[SparkSession, TableStore]]:
    """Yield the session of *job*, see :func:`open_session`, and all tables, with *more* of its own."""
    spark = open_session(f"offset-sync {job}", reads_internal_topics=reads_internal_topics, clusters=clusters)
    try:
        check_logins(config)
        check_places(config, default_file_system(spark))
        tables = TableStore.of(config)
        tables.create((*TABLES, *more))
        check_checkpoints(tables.files, config.tables.checkpoints)
        yield spark, tables
    finally:
        spark.stop()


def check_places(config: Config, default: str) -> None:
    """Raise ConfigError where a path without a scheme could be meant for Hadoop's *default* file system, such as HDFS.

    On the local disk another machine would begin with new tables, and not see that this driver is alive.
    """
    for key in ("root", "checkpoints"):
        path = getattr(config.tables, key)
        if not default.startswith("file:") and ":" not in path:
            remedy = "write it with its scheme; file:///… is this machine's disk"
            raise ConfigError([f"tables.{key}: {path} has no scheme, and fs.defaultFS is {default}: {remedy}"])


def check_logins(config: Config) -> None:
    """Raise PlatformError, in one line, where Spark lacks the jar by which its clients log in at Amazon MSK."""
    for alias in config.clusters:
        if MSK_HANDLER in config.java_options(alias).values():
            try:
                jar_of(MSK_HANDLER)
            except LookupError as missing:
                text = f"clusters.{alias}: Spark lacks the class {MSK_HANDLER}, by which it logs in"
                remedy = "start the job with --jars aws-msk-iam-auth-2.3.6-all.jar (Maven: software.amazon.msk)"
                raise PlatformError(f"{text}; {remedy}") from missing


def with_slots(master: str, cores: int, clusters: int) -> str:
    """Return *master*, where it is ``local[*]`` with a task slot per core for every cluster, up to a bound."""
    if master != _EVERY_CORE:
        return master
    return f"local[{max(cores, min(cores * clusters, _MOST_SLOTS))}]"
