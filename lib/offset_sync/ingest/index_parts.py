"""What the queries of ``index_records`` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import SparkSession

from offset_sync.config.stream_names import Names
from offset_sync.ingest.copy_check import CopyCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_progress import IndexProgress
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.ingest.second_reader import OffsetRanges
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.values import TopicPartition
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


def called(names: Names, alias: str, ranges: OffsetRanges) -> OffsetRanges:
    """Return *ranges* of streams by what the cluster calls them."""
    return {TopicPartition(names.outside(alias, topic), number): each for (topic, number), each in ranges.items()}
