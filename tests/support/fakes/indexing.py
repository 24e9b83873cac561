"""Micro-batches of the index of cluster Y, without Spark and Kafka."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.tables import MemoryFrame, MemoryTables
from fakes.unchecked import ONLY_SPARK
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.ingest.run_cuts import cut_logs
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS

Partition = TopicPartition
ORDERS, SECOND, PAY = (TopicPartition(*each) for each in (("orders", 0), ("orders", 1), ("pay", 0)))
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
    topics_of_x: dict[str, MemoryTopic] = field(default_factory=lambda: dict(TOPICS))
    ends_at_x: int = 1000
    logs: dict[str, dict[Partition, MemoryEnds]] = field(default_factory=dict)
    epoch_ends: dict[Partition, int] = field(default_factory=dict)
    without_ends: set[Partition] = field(default_factory=set)
    read_again: list[tuple[Partition, int, Headers | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.progress = IndexProgress()
        cutter = RunBuilder(StreamIdentities("Y", {"IDC-X": "X"}, "text"), str.isupper)
        clusters = dict.fromkeys(("X", "Y"), self)
        is_fake = isinstance(self.tables, MemoryTables)
        cut = self.tables.cut if is_fake else partial(cut_logs, self.tables, timedelta(hours=1))
        incarnations = IncarnationCheck(self.tables, clusters, self.reaches, 60_000, cut)  # type: ignore[arg-type]
        self.incarnations = incarnations
        logs = LogCheck("Y", Asked(self, self, self.reread), OriginCheck("Y", ["X", "Y"]), incarnations)  # type: ignore[arg-type]
        checks = Checks(logs, ONLY_SPARK)
        self.indexer = RecordIndexer(self.tables, self.plan, cutter, checks, self.progress)  # type: ignore[arg-type]

    def fetch_each(self, wanted: dict[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata]:
        """Return the log ends: by default beyond all that is read here."""
        return {alias: self._said_of(alias, partitions) for alias, partitions in wanted.items()}

    def _said_of(self, alias: str, partitions: Collection[TopicPartition]) -> ClusterMetadata:
        asked, topics = {topic for topic, _ in partitions}, self.topics if alias == "Y" else self.topics_of_x
        topics = {name: topic for name, topic in topics.items() if name in asked}
        there = {name: topic for name, topic in topics.items() if isinstance(topic, MemoryTopic)}
        default = MemoryEnds(0, 1 << 40 if alias == "Y" else self.ends_at_x)
        logs = self.logs.get(alias, {})
        ends = {each: logs.get(each, default) for each in partitions if each.topic in there}
        if alias == "Y":
            ends = {each: end for each, end in ends.items() if each not in self.without_ends}
        refused = {name: topic for name, topic in topics.items() if isinstance(topic, ClusterError)}
        return ClusterMetadata(there, ends, refused)

    def ends(self, epochs: dict[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        """Say where leader epochs end."""
        return {each: epoch.end(self.epoch_ends[each], epoch.known) for each, epoch in epochs.items()}

    def reaches(self) -> dict[ClusterPartition, int]:
        """Say how far logs are indexed, by what the table has."""
        return highest_indexed(self.tables)  # type: ignore[arg-type]

    def reread(self, ranges: dict[TopicPartition, tuple[int, int]]) -> MemoryFrame:
        """Return the present records in these ranges, of *read_again*."""
        return to_frame(
            record
            for record in self.read_again
            for (topic, partition), (first, end) in ranges.items()
            if record[0] == (topic, partition) and first <= record[1] < end
        )

    def index(self, batch_id: int, *records: tuple[Partition, int, Headers | None]) -> None:
        self.indexer(to_frame(records), batch_id)  # type: ignore[arg-type]

    def runs(self) -> list[tuple[Any, ...]]:
        names = ("topic", "partition", "start_offset", "length", "origin", "origin_start")
        return self.tables.rows(RECORD_RUNS, *names)

    def topic_ids(self) -> list[tuple[str]]:
        return self.tables.rows(LOG_INCARNATIONS, "topic_id")


def to_frame(records: Iterable[tuple[Partition, int, Headers | None]]) -> MemoryFrame:
    """Return records as the query reads them."""
    rows = [
        dict(zip(MIRRORED_RECORDS.names, (*place, offset, 0, *(headers or (None, None)))))
        for place, offset, headers in records
    ]
    return MemoryFrame(pa.Table.from_pylist(rows, MIRRORED_RECORDS))


def mirrored(offset: int) -> Headers:
    return b"IDC-X", str(offset).encode()
