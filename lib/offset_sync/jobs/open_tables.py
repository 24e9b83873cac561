"""The tables for a command that runs once."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from offset_sync.config import Config
from offset_sync.kafka.librdkafka import check_client
from offset_sync.model.errors import ConfigError
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


@contextmanager
def open_tables(config: Config, name: str) -> Iterator[TableStore]:
    """Yield the tables of *config* on any storage; see :func:`session_if_submitted` for *name*."""
    for remark in check_client():
        logger.warning("%s", remark)
    with session_if_submitted(name):
        yield TableStore.of(config, config.names)


@contextmanager
def session_if_submitted(name: str) -> Iterator[None]:
    """Open a Spark session with the application *name* if spark-submit has started this process.

    YARN and Kubernetes end a driver that opens none. Otherwise no JVM is started, and pyspark is not imported.
    """
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        yield
        return
    from pyspark.sql import SparkSession

    from offset_sync.jobs.spark_session import open_session

    is_ours = SparkSession.getActiveSession() is None
    spark = open_session(name)
    try:
        yield
    finally:
        if is_ours:
            spark.stop()


def check_direction(config: Config, source: str, target: str) -> None:
    """Raise ConfigError if offsets are not synced from *source* to *target*."""
    if (source, target) not in config.pairs():
        known = ", ".join(f"{one} to {other}" for one, other in config.pairs())
        raise ConfigError([f"--from {source} --to {target}: not a direction of the configuration, which has {known}"])
