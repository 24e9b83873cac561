"""The index of cluster Y with real tables and Spark, and clusters in memory."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS, PAY, SECOND, Job, Plan
from offset_sync.ingest.map_batches import MapBatches, to_sql
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.model.values import TopicPartition
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore

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
        number = sent[0] if not 0.8 < kind < 0.9 else (1000 + sent[0] if kind < 0.85 else -1)
        name = b"IDC-X" if kind < 0.9 else b"far-%d" % sent[0]
        return (name, b"%d" % number) if kind < 0.95 else None

    return headers


def noted(folder: Path) -> MapBatches:
    """Return what passes records on, and leaves a file in *folder* for each task that read them."""

    def note(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        (folder / uuid.uuid4().hex).touch()
        yield from batches

    return note  # a function of here, for the workers cannot import this module


class Site(Job):
    """Indexes three logs of cluster Y into *tables* by Spark, a file in *folder* for each task that reads."""

    def __init__(self, spark: SparkSession, tables: TableStore, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        super().__init__(Plan(dict.fromkeys((ORDERS, SECOND, PAY), 0), []), tables)  # type: ignore[arg-type]

    def recreate(self, topic_id: str) -> None:
        """Have ``orders`` be another topic at both clusters."""
        self.topics["orders"] = self.topics_of_x["orders"] = MemoryTopic(topic_id, 2)

    def reread(self, ranges: dict[TopicPartition, tuple[int, int]]) -> DataFrame:  # type: ignore[override]
        """Return the present records in these ranges."""
        return self.frame(ranges, any_headers(7))

    def frame(self, ranges: dict[TopicPartition, tuple[int, int]], headers: Numbers) -> DataFrame:
        """Return the records of *ranges* as the query reads them, a log in one task."""
        rows = [
            dict(zip(MIRRORED_RECORDS.names, (*place, n, FAR_US + n * 1000, *(headers(n) or (None, None)))))
            for place, (first, end) in ranges.items()
            for n in range(first, end)
        ]
        frame = self.spark.createDataFrame(pa.Table.from_pylist(rows, MIRRORED_RECORDS))
        frame = frame.repartition("topic", "partition")
        return frame.sortWithinPartitions("topic", "partition", "offset").mapInArrow(noted(self.folder), READ_SQL)

    def index(self, batch_id: int, count: int, headers: Numbers) -> None:  # type: ignore[override]
        """Index *count* more records of each log."""
        if batch_id == len(self.plan.ends):
            self.plan.ends.append({place: end + count for place, end in self.plan.start_offsets(batch_id).items()})
        start, ends = self.plan.start_offsets(batch_id), self.plan.end_offsets(batch_id)
        self.logs["Y"] = {place: MemoryEnds(0, end) for place, end in ends.items()}
        self.indexer(self.frame({place: (start[place], end) for place, end in ends.items()}, headers), batch_id)

    def rows(self, table: Table, *without: str) -> list[str]:
        """Return the rows of *table*, without columns that have the time of this run."""
        return sorted(map(str, self.tables.all_rows(table).drop_columns(list(without)).to_pylist()))

    def tasks_that_read(self) -> int:
        return len(list(self.folder.iterdir()))
