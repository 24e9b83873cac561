"""The index of cluster Y with real tables and Spark, and clusters in memory."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS, PAY, SECOND, Partition, Plan
from fakes.unchecked import ONLY_SPARK
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.map_batches import MapBatches, to_sql
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore

X_ENDS_AT = 1000
FAR_US = 10**16
"""Beyond what nanoseconds have room for."""
READ_SQL = to_sql(MIRRORED_RECORDS)
BUILDER = RunBuilder(StreamIdentities("Y", {"IDC-X": "X"}, "text"), str.isupper)
Numbers = Callable[[int], tuple[bytes, bytes] | None]


def any_headers(seed: int) -> Numbers:
    """Return headers by chance: native records, copies, of any origin, unreadable ones, and false ones."""
    rng, sent = random.Random(seed), [0]

    def headers(_offset: int) -> tuple[bytes, bytes] | None:
        kind = rng.random()
        sent[0] += rng.choice((1, 1, 1, 3))
        number = sent[0] if not 0.8 < kind < 0.9 else (X_ENDS_AT + sent[0] if kind < 0.85 else -1)
        name = b"IDC-X" if kind < 0.9 else b"far-%d" % sent[0]
        return (name, b"%d" % number) if kind < 0.95 else None

    return headers


def noted(folder: Path) -> MapBatches:
    """Return what passes records on, and leaves a file in *folder* for each task that read them."""

    def note(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        (folder / uuid.uuid4().hex).touch()
        yield from batches

    return note  # a function of here, for the workers cannot import this module


@dataclass
class Site:
    """Indexes cluster Y into *tables*; queries are answered from these fields."""

    spark: SparkSession
    tables: TableStore
    folder: Path
    lives: dict[str, str] = field(default_factory=lambda: {"orders": "orders-1", "pay": "pay-1"})
    log_ends: dict[Partition, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plan = Plan(dict.fromkeys((ORDERS, SECOND, PAY), 0), [])
        own = SimpleNamespace(fetch_each=lambda wanted: {"Y": self.said(self.log_ends)})
        others = SimpleNamespace(
            fetch_each=lambda wanted: {each: self.said(dict.fromkeys(self.log_ends, X_ENDS_AT)) for each in wanted}
        )
        incarnations = IncarnationCheck(self.tables, {}, lambda: highest_indexed(self.tables), late_ms=60_000)
        logs = LogCheck("Y", Asked(own, others, self.read_again), OriginCheck("Y", ["X", "Y"]), incarnations)
        topics = SimpleNamespace(describe=lambda names: {each: MemoryTopic(self.lives[each], 2) for each in names})
        self.progress = IndexProgress()
        self.indexer = RecordIndexer(self.tables, self.plan, BUILDER, Checks(topics, logs, ONLY_SPARK), self.progress)

    def said(self, log_ends: dict[Partition, int]) -> ClusterMetadata:
        topics = {name: MemoryTopic(topic_id, 2) for name, topic_id in self.lives.items()}
        return ClusterMetadata(topics, {TopicPartition(*p): MemoryEnds(0, end) for p, end in log_ends.items()})

    def read_again(self, ranges: dict[TopicPartition, tuple[int, int]]) -> DataFrame:
        return self.frame({(place.topic, place.partition): each for place, each in ranges.items()}, any_headers(7))

    def frame(self, ranges: dict[Partition, tuple[int, int]], headers: Numbers) -> DataFrame:
        """Return the records of *ranges* as the query reads them, a log in one task."""
        rows = [
            dict(zip(MIRRORED_RECORDS.names, (*place, n, FAR_US + n * 1000, *(headers(n) or (None, None)))))
            for place, (first, end) in ranges.items()
            for n in range(first, end)
        ]
        frame = self.spark.createDataFrame(pa.Table.from_pylist(rows, MIRRORED_RECORDS))
        frame = frame.repartition("topic", "partition")
        return frame.sortWithinPartitions("topic", "partition", "offset").mapInArrow(noted(self.folder), READ_SQL)

    def index(self, batch_id: int, count: int, headers: Numbers) -> None:
        """Index *count* more records of each log."""
        if batch_id == len(self.plan.ends):
            self.plan.ends.append({place: end + count for place, end in self.plan.start_offsets(batch_id).items()})
        start, self.log_ends = self.plan.start_offsets(batch_id), self.plan.end_offsets(batch_id)
        self.indexer(self.frame({p: (start[p], end) for p, end in self.log_ends.items()}, headers), batch_id)

    def rows(self, table: Table, *without: str) -> list[str]:
        """Return the rows of *table*, without columns that have the time of this run."""
        return sorted(map(str, self.tables.all_rows(table).drop_columns(list(without)).to_pylist()))

    def tasks_that_read(self) -> int:
        return len(list(self.folder.iterdir()))
