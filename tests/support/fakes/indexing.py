"""Micro-batches of the index of cluster Y, without Spark and Kafka."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.tables import MemoryFrame, MemoryTables
from offset_sync.ingest.index_progress import IndexProgress
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.tables.catalog import INDEXED_TOPICS, RECORD_RUNS

Partition = tuple[str, int]
ORDERS, SECOND, PAY = ("orders", 0), ("orders", 1), ("pay", 0)
Headers = tuple[bytes, bytes]
TOPICS = {topic: MemoryTopic(f"{topic}-1", 2) for topic in ("orders", "pay")}


@dataclass
class Plan:
    """What a checkpoint says: where the query began, and where each micro-batch ends."""

    start: dict[Partition, int]
    ends: list[dict[Partition, int]]
    query: str = "query"

    def query_id(self) -> str:
        return self.query

    def start_offsets(self, batch_id: int) -> dict[Partition, int]:
        return self.ends[batch_id - 1] if batch_id else self.start

    def end_offsets(self, batch_id: int) -> dict[Partition, int]:
        return self.ends[batch_id]


@dataclass
class Job:
    """Indexes cluster Y by *plan*; a restarted one has the same tables."""

    plan: Plan
    tables: MemoryTables = field(default_factory=MemoryTables)
    topics: dict[str, MemoryTopic] = field(default_factory=lambda: dict(TOPICS))
    is_silent: bool = False
    ends_at_x: int = 1000

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.progress = IndexProgress()
        cutter = RunBuilder("Y", {"IDC-X": "X"}, "text", str.isupper)
        checks = Checks(self, OriginCheck("Y", ["X", "Y"], self))  # type: ignore[arg-type]
        self.indexer = RecordIndexer(self.tables, self.plan, cutter, checks, self.progress)  # type: ignore[arg-type]

    def describe(self, topics: list[str]) -> dict[str, Any]:
        if self.is_silent:
            raise OSError("no brokers")
        return {topic: info for topic, info in self.topics.items() if topic in topics}

    def fetch(self, aliases: list[str], partitions: list[TopicPartition]) -> dict[str, Any]:
        """Say how far the logs of X reach."""
        return {alias: ClusterMetadata({}, {p: MemoryEnds(0, self.ends_at_x) for p in partitions}) for alias in aliases}

    def index(self, batch_id: int, *records: tuple[Partition, int, Headers | None]) -> None:
        rows = [
            dict(zip(MIRRORED_RECORDS.names, (*place, offset, 0, *(headers or (None, None)))))
            for place, offset, headers in records
        ]
        self.indexer(MemoryFrame(pa.Table.from_pylist(rows, MIRRORED_RECORDS)), batch_id)  # type: ignore[arg-type]

    def runs(self) -> list[tuple[Any, ...]]:
        names = ("topic", "partition", "start_offset", "length", "origin", "origin_start")
        return self.tables.rows(RECORD_RUNS, *names)

    def topic_ids(self) -> list[tuple[str, int | None]]:
        return self.tables.rows(INDEXED_TOPICS, "topic_id", "partitions")


def mirrored(offset: int) -> Headers:
    return b"IDC-X", str(offset).encode()
