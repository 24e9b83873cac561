"""The tables for a command that answers at once: without Spark wherever they can be reached without it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from offset_sync.config import Config
from offset_sync.kafka.librdkafka import check_client
from offset_sync.model.errors import PlatformError
from offset_sync.tables.local_store import LocalTables
from offset_sync.tables.places import local_place
from offset_sync.tables.protocol import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)


@contextmanager
def open_tables(config: Config, name: str) -> Iterator[Tables]:
    """Yield the tables of *config*; on a disk of this machine no JVM is started, and pyspark not imported.

    Elsewhere (HDFS, S3 and the like) a session of Spark's has the application *name*, and is stopped at the end; one
    that was there before is used, and goes on. Raises PlatformError where that is needed and not installed.
    """
    if is_within_reach(config, os.environ):
        for remark in check_client():
            logger.warning("%s", remark)
        tables = LocalTables(config.tables.root, config.names)
        if not (needed := tables.readable_by_spark_alone()):
            yield tables
            return
        logger.info("%s: rows of files are deleted there, which Spark knows how to read", ", ".join(needed))
    spark, is_ours = open_spark(name, "tables.root", config.tables.root)
    from offset_sync.tables.store import TableStore

    try:
        yield TableStore(spark, config.tables.root, names=config.names)
    finally:
        if is_ours:
            spark.stop()


def open_spark(name: str, key: str, place: str) -> tuple[SparkSession, bool]:
    """Return a session of Spark's, which alone reaches the *place* that the configuration has under *key*.

    And whether it was opened for this: who has opened it stops it. Raises PlatformError where it is not installed.
    """
    try:
        from pyspark.sql import SparkSession

        from offset_sync.jobs.spark_session import open_session
    except ModuleNotFoundError as problem:
        raise PlatformError(
            f"{key}: {place} is reached by Spark, and {problem.name} is not installed; "
            "run: pip install 'offset-sync[spark]'"
        ) from None
    before = SparkSession.getActiveSession()
    return (open_session(name), True) if before is None else (before, False)


def is_within_reach(config: Config, environ: Mapping[str, str]) -> bool:
    """Return whether tables and checkpoints lie on a disk of this machine.

    Not where spark-submit has started this process: YARN and Kubernetes end a driver that opens no session.
    """
    places = (config.tables.root, config.tables.checkpoints)
    return "PYSPARK_GATEWAY_PORT" not in environ and all(local_place(each, environ) is not None for each in places)
