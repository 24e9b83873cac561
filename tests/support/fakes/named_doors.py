"""Tables and clients behind the doors that translate names: what is stored and asked has those that Kafka knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from fakes.clusters import MemoryCluster, MemoryEnds, MemoryTopic
from fakes.tables import MemoryTables
from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import TopicMetadata
from offset_sync.kafka.group_offsets import Coordinators
from offset_sync.model.values import TopicPartition
from offset_sync.tables.definition import Table
from offset_sync.tables.rows import CLUSTER_OF, renamed


class NamedTables(MemoryTables):
    """Tables in memory behind the door of the real ones."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.names = config.names

    def append(self, table: Table, rows: pa.Table, writer: Any = None, written: object = None) -> None:
        """Append *rows*, which have streams."""
        rows = rows.select(table.names).cast(table.arrow_schema)
        super().append(table, self.renamed(table, rows, self.names.outside), writer, written)

    def read_added(self, table: Table, after: int, until: int) -> pa.Table:
        """Return rows with streams; all other ways to read lead here."""
        return self.renamed(table, super().read_added(table, after, until), self.names.inside)

    def renamed(self, table: Table, rows: pa.Table, name_of: Any) -> pa.Table:
        """Return *rows* by other names."""
        return renamed(rows, CLUSTER_OF[table], name_of) if table in CLUSTER_OF else rows


def let_doors_lead_to(clusters: Mapping[str, MemoryCluster], patch: pytest.MonkeyPatch) -> None:
    """Have the client of each cluster ask the clusters in *clusters*, by their own names."""

    def describe(admin: TopicMetadata, topics: Any, deadline: float = 0) -> dict[str, MemoryTopic]:
        there = clusters[admin.alias].topics
        return {topic: there[topic] for topic in topics if topic in there}

    def ends(admin: TopicMetadata, partitions: Any, deadline: float = 0) -> dict[TopicPartition, MemoryEnds]:
        logs = clusters[admin.alias].logs
        return {each: logs[each] for each in partitions if each in logs}

    def committed(admin: Coordinators, groups: Sequence[str], deadline: float = 0) -> Mapping[str, Any]:
        return clusters[admin.alias].committed_offsets(groups, deadline)

    def write(admin: Coordinators, writes: Any, deadline: float, may_send: Any) -> Mapping[str, Any]:
        return clusters[admin.alias].write_offsets(writes, deadline, may_send)

    patch.setattr(TopicMetadata, "described", describe)
    patch.setattr(TopicMetadata, "ends", ends)
    patch.setattr(Coordinators, "committed_offsets", committed)
    patch.setattr(Coordinators, "write_offsets", write)
