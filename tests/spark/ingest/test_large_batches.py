"""Large micro-batches: tasks write what they have made, and the tables are those of small ones."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS, PAY, SECOND, Job, Plan
from offset_sync.config import Mirror
from offset_sync.ingest import checkpoint, map_batches, record_indexer
from offset_sync.ingest.batch_rows import to_runs
from offset_sync.ingest.checkpoint import DRIVER_MAX_RECORDS
from offset_sync.ingest.kafka_source import MirroredRecords, with_mirror_headers
from offset_sync.ingest.kept_runs import cut_by_tasks, release_all
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync.tables.catalog import QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks

FEW = 10
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FAR_US = 10**16
"""Beyond what nanoseconds have room for."""
BUILDER = RunBuilder(StreamIdentities("Y", {"IDC-X": "X"}, "text"), str.isupper)
Ranges = dict[TopicPartition, tuple[int, int]]


class Site(Job):
    """Indexes three logs of cluster Y by Spark."""

    def __init__(self, spark: SparkSession, tables: TableStore) -> None:
        self.spark = spark
        super().__init__(Plan(dict.fromkeys((ORDERS, SECOND, PAY), 0), []), tables)  # type: ignore[arg-type]

    def recreate(self, topic_id: str) -> None:
        """Have ``orders`` be another topic at both clusters."""
        self.topics["orders"] = self.topics_of_x["orders"] = MemoryTopic(topic_id, 2)

    def reread(self, ranges: Ranges) -> DataFrame:  # type: ignore[override]
        """Return the present records in these ranges."""
        return self.frame(ranges, 7)

    def frame(self, ranges: Ranges, seed: int) -> DataFrame:
        """Return records as the query reads them: copies, native ones, of any origin, unreadable ones, false ones."""
        odd = [(None, None), (b"far-1", b"7"), (b"IDC-X", b"-1"), (b"IDC-X", b"2000"), (b"far-2", b"7")]
        rows = []
        for place, (first, end) in ranges.items():
            for n in range(first, end):
                kind = (7 * n + seed) % 20
                headers = odd[kind] if kind < len(odd) else (b"IDC-X", b"%d" % n)
                rows.append(dict(zip(MIRRORED_RECORDS.names, (*place, n, FAR_US + n * 1000, *headers))))
        frame = self.spark.createDataFrame(pa.Table.from_pylist(rows, MIRRORED_RECORDS))
        return frame.repartition("topic", "partition").sortWithinPartitions("topic", "partition", "offset")

    def index(self, batch_id: int, count: int) -> None:  # type: ignore[override]
        """Index *count* more records of each log."""
        start = self.plan.start_offsets(batch_id)
        if batch_id == len(self.plan.ends):
            self.plan.ends.append({place: end + count for place, end in start.items()})
        ends = self.plan.end_offsets(batch_id)
        self.logs["Y"] = {place: MemoryEnds(0, end) for place, end in ends.items()}
        self.indexer(self.frame({place: (start[place], end) for place, end in ends.items()}, batch_id), batch_id)

    def rows(self, table: Table, *without: str) -> list[str]:
        """Return the rows of *table*, without columns that have the time of this run."""
        return sorted(map(str, self.tables.all_rows(table).drop_columns(list(without)).to_pylist()))


def few_are(records: int, patch: pytest.MonkeyPatch, *, elsewhere: bool) -> None:
    """Have the driver work on so many records by itself; this session may pass for one that has executors."""
    for module in (checkpoint, map_batches):
        patch.setattr(module, "DRIVER_MAX_RECORDS", records)
    patch.setattr(record_indexer, "has_executors", lambda _records: elsewhere)


def test_tables_are_the_same_by_any_writer_however_often_and_whatever_is_read_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = []
    for name, few, elsewhere in (("small", DRIVER_MAX_RECORDS, False), ("local", FEW, False), ("large", FEW, True)):
        few_are(few, monkeypatch, elsewhere=elsewhere)
        tables = TableStore(str(tmp_path / name))
        tables.create()
        sites.append(site := Site(spark, tables))
        for batch_id, count in ((0, 120), (0, 120), (1, 60)):
            site.index(batch_id, count)
        assert pc.sum(tables.all_rows(RECORD_RUNS).column("length")).as_py() == 3 * 180
        assert site.progress.backfill().records == 3 * (2 * 120 + 60)
        for topic_id in ("orders-2", "orders-3"):
            # The second is written before the change is known: all but the records read again are a repetition.
            site.recreate(topic_id)
            site.index(2, 50)
        assert pc.sum(tables.all_rows(RECORD_RUNS).column("length")).as_py() == 3 * 230
        assert tables.all_rows(QUARANTINE).num_rows > 4 * FEW
    small, *others = sites
    for each in others:
        assert each.rows(QUARANTINE, "seen_at") == small.rows(QUARANTINE, "seen_at")
        times = ("indexed_at", "complete_until")
        assert each.rows(RECORD_RUNS, *times) == small.rows(RECORD_RUNS, *times)
        assert each.tables.version(RECORD_RUNS) == small.tables.version(RECORD_RUNS)


def test_no_other_attempt_of_a_task_than_the_one_that_was_checked_is_written(
    spark: SparkSession, tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_are(FEW, monkeypatch, elsewhere=True)
    records, to_written = Site(spark, tables).frame({ORDERS: (0, 100)}, 1), partial(to_runs, alias="Y", now=EPOCH)
    checked, later = (cut_by_tasks(records, BUILDER, ["X"]).kept[0] for _attempt in range(2))
    assert write_by_tasks(tables, RECORD_RUNS, checked.rows, checked.checked(to_written))
    with pytest.raises(Exception, match="a task attempt that was not checked"):
        write_by_tasks(tables, RECORD_RUNS, later.rows, checked.checked(to_written))
    release_all([checked, later])


Headers = tuple[tuple[str, bytes | None], ...]
SCHEMA = (
    "topic string, partition int, offset bigint, timestamp timestamp, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
CASES: list[tuple[Headers | None, tuple[bytes | None, bytes | None]]] = [
    (None, (None, None)),
    ((("other", b"x"),), (None, None)),
    ((("Offset", b"5"), ("other", b"x"), ("IDC", b"dc2")), (b"dc2", b"5")),
    ((("IDC", None), ("Offset", b"5")), (None, b"5")),
    # Of equal keys the last.
    ((("IDC", b"dc2"), ("IDC", b"dc3"), ("Offset", b"5"), ("Offset", b"6")), (b"dc3", b"6")),
    ((("IDC", b"dc2"), ("Offset", b"5"), ("IDC", None), ("Offset", None)), (None, None)),
    ((("idc", b"dc2"), ("Offset ", b"5"), ("", b"6")), (None, None)),
    # One longer than any valid one is cut, and stays too long.
    ((("IDC", b"o" * 5000), ("Offset", b"1" * 5000)), (b"o" * 1024, b"1" * 1024)),
]


def test_spark_and_the_reader_of_what_spark_fails_on_pick_the_same_two_headers(spark: SparkSession) -> None:
    given = [("orders", 3, n, None, b"value", headers and [*headers]) for n, (headers, _) in enumerate(CASES)]
    rows = with_mirror_headers(spark.createDataFrame(given, SCHEMA), Mirror()).sort("offset").collect()
    log = TopicPartition("orders", 3)
    contents = [(log, RecordContent(n, 0, None, b"value", headers or ())) for n, (headers, _) in enumerate(CASES)]
    wanted = [("orders", 3, n, *found) for n, (_, found) in enumerate(CASES)]
    names = ("topic", "partition", "offset", "origin_header", "offset_header")
    for found in (rows, MirroredRecords(Mirror())(contents).to_pylist()):
        assert [tuple(row[name] for name in names) for row in found] == wanted
