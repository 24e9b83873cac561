"""What the queries of ``index_records`` share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from offset_sync.config import Config
from offset_sync.config.stream_names import Names
from offset_sync.ingest.checkpoint import Checkpoint, NamedCheckpoint
from offset_sync.ingest.copy_check import CopyCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_progress import IndexProgress
from offset_sync.ingest.log_check import Asked, LogReader
from offset_sync.ingest.log_rows import OffsetRanges
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.kafka.cluster_admin import DEADLINE_S, ClusterAdmin
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.lease import Lease
from offset_sync.tables.store import TableStore

ORIGIN_DEADLINE_S = 1.0
"""An origin that is silent for longer is believed, and not asked again for some seconds: no index waits for another."""


class IndexParts(NamedTuple):
    """What the queries of all clusters share."""

    spark: SparkSession
    tables: TableStore
    queries: QuerySupervisor
    progress: IndexProgress
    admins: Mapping[str, ClusterAdmin]
    incarnations: IncarnationCheck
    copies: CopyCheck
    lease: Lease
    is_once: bool

    def checkpoint(self, config: Config, alias: str, refused: Collection[str], kind: str = "") -> Checkpoint:
        """Return the checkpoint of the query of cluster *alias* for *kind*, fit to start from without *refused*."""
        place = self.tables.files, f"{config.tables.checkpoints}/index_records/{alias}{kind}"
        names = config.names
        found = Checkpoint(*place) if names.is_same else NamedCheckpoint(*place, alias, names)
        found.repair()
        found.leave_out(refused)
        return found

    def asked(self, again: LogReader) -> Asked:
        """Return who is asked about what was read; *again* reads ranges once more."""
        own, others = (MetadataFetcher(self.admins, seconds) for seconds in (DEADLINE_S, ORIGIN_DEADLINE_S))
        return Asked(own, others, again)

    def started(self, writer: DataStreamWriter, alias: str, interval: timedelta) -> StreamingQuery:
        """Start the query of cluster *alias* that *writer* describes: once, or whenever *interval* has passed."""
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", alias)
        trigger = {"availableNow": True} if self.is_once else {"processingTime": f"{interval.total_seconds()} seconds"}
        return writer.trigger(**trigger).start()


def called(names: Names, alias: str, ranges: OffsetRanges) -> OffsetRanges:
    """Return *ranges* of streams by what the cluster calls them."""
    return {TopicPartition(names.outside(alias, topic), number): each for (topic, number), each in ranges.items()}
