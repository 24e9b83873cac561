"""Who commits at each target: the driver or its tasks, as long as no other driver has taken over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from pyspark.sql import SparkSession

from offset_sync.config import Config
from offset_sync.jobs.sync_run import Run
from offset_sync.sync.distributed_writer import DistributedWriter
from offset_sync.sync.groups_at_once import GroupsAtOnce
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.sync.reconciliation import OffsetWriter


class TargetWriters:
    """One writer for each cluster of *config*, in *by_alias*."""

    def __init__(self, config: Config, spark: SparkSession, run: Run) -> None:
        self._at_once = {alias: GroupsAtOnce(alias, partial(config.java_options, alias)) for alias in config.clusters}
        sync, seconds = config.sync, config.sync.commit_timeout.total_seconds()
        self.by_alias: dict[str, OffsetWriter] = {}
        for alias, at_once in self._at_once.items():
            options, is_dry = config.admin_options(alias), not run.is_writing
            target = TargetWriter(alias, options, sync.requests_in_flight, seconds, is_dry, names=config.names)
            self.by_alias[alias] = DistributedWriter(spark, target, run.lease, at_once)

    @contextmanager
    def closed_at_the_end(self) -> Iterator[None]:
        """Give back to the JVM what reading has taken of it."""
        try:
            yield
        finally:
            for each in self._at_once.values():
                each.close()
