"""Large micro-batches: tasks write what they have made, the tables are those of small ones, no run is collected."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS, PAY, SECOND, Partition, Plan
from offset_sync.ingest import map_batches
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_progress import IndexProgress
from offset_sync.ingest.kept_runs import cut_by_tasks, release_all
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.map_batches import MapBatches, to_sql
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import CUT_SCHEMA, RunBuilder
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.tables.catalog import QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore

FEW = 10
X_ENDS_AT = 1000
FAR_US = 10**16
"""Beyond what nanoseconds have room for."""
READ_SQL = to_sql(MIRRORED_RECORDS)
Numbers = Callable[[int], tuple[bytes, bytes] | None]


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows came to the driver, each time that any did."""
    found: list[int] = []
    collect = ClassicFrame.toArrow

    def counted(self: ClassicFrame) -> pa.Table:
        rows = collect(self)
        found.append(rows.num_rows)
        return rows

    monkeypatch.setattr(ClassicFrame, "toArrow", counted)
    return found


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
    """Indexes cluster Y into *tables*; whoever is asked says what stands here."""

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
        builder = RunBuilder("Y", {"IDC-X": "X"}, "text", str.isupper)
        self.indexer = RecordIndexer(self.tables, self.plan, builder, Checks(topics, logs), self.progress)

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
        spark = self.tables.spark
        frame = spark.createDataFrame(pa.Table.from_pylist(rows, MIRRORED_RECORDS)).repartition("topic", "partition")
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


def of_sites(spark: SparkSession, root: Path, patch: pytest.MonkeyPatch, story: Callable[[Site], None]) -> list[Site]:
    """Return two installations that went through *story*: in small micro-batches and in large ones."""
    found = []
    for name, few in (("small", map_batches.DRIVER_MAX_RECORDS), ("large", FEW)):
        tables, folder = TableStore(spark, str(root / name)), root / f"{name}-read"
        tables.create()
        folder.mkdir()
        patch.setattr(map_batches, "DRIVER_MAX_RECORDS", few)
        found.append(Site(tables, folder))
        story(found[-1])
    return found


def check_same(small: Site, large: Site) -> None:
    assert small.rows(QUARANTINE, "seen_at") == large.rows(QUARANTINE, "seen_at")
    assert small.rows(RECORD_RUNS, "indexed_at", "complete_until") == large.rows(
        RECORD_RUNS, "indexed_at", "complete_until"
    )
    assert small.tables.version(RECORD_RUNS) == large.tables.version(RECORD_RUNS)


def test_tables_are_the_same_whoever_writes_them_and_however_often(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def story(site: Site) -> None:
        for _restart in range(2):
            site.index(0, 120, any_headers(1))
        site.index(1, 60, any_headers(2))

    small, large = of_sites(spark, tmp_path, monkeypatch, story)
    check_same(small, large)
    runs = large.tables.all_rows(RECORD_RUNS)
    assert pc.sum(runs.column("length")).as_py() == 3 * 180
    assert len(runs.column("indexed_at").unique()) == 2
    assert large.tables.all_rows(QUARANTINE).num_rows > 4 * FEW
    assert large.progress.backfill().records == small.progress.backfill().records == 3 * (2 * 120 + 60)


def test_what_has_other_records_since_is_read_again_and_its_former_rows_do_not_count(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def story(site: Site) -> None:
        site.index(0, 50, any_headers(1))
        site.lives["orders"] = "orders-2"
        site.index(1, 50, any_headers(2))

    small, large = of_sites(spark, tmp_path, monkeypatch, story)
    check_same(small, large)
    runs = large.tables.all_rows(RECORD_RUNS)
    assert pc.sum(runs.column("length")).as_py() == 3 * 50 + 2 * 100 + 50


def test_records_are_read_once_and_no_row_of_theirs_comes_to_the_driver(
    tables: TableStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collected: list[int]
) -> None:
    monkeypatch.setattr(map_batches, "DRIVER_MAX_RECORDS", FEW)
    (folder := tmp_path / "read").mkdir()
    site = Site(tables, folder)
    seen = []
    for batch_id, count in enumerate((100, 300)):
        site.index(batch_id, count, any_headers(batch_id))
        seen.append(sorted(collected))
        collected.clear()
        assert site.tasks_that_read() == 2 * (batch_id + 1)
    assert seen[0] == seen[1]
    assert sum(seen[0]) <= 2 * (FEW + 1) + 3 * 3
    assert tables.spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_few_rows_of_many_records_come_to_the_driver_as_before(
    tables: TableStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_batches, "DRIVER_MAX_RECORDS", FEW)
    (folder := tmp_path / "read").mkdir()
    Site(tables, folder).index(0, 100, lambda _offset: None)
    assert len(list(Path(tables.path(RECORD_RUNS)).glob("*.parquet"))) == 1
    assert pc.sum(tables.all_rows(RECORD_RUNS).column("length")).as_py() == 300
    assert tables.spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_rows_that_are_lost_with_an_executor_are_not_made_again(
    tables: TableStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_batches, "DRIVER_MAX_RECORDS", FEW)
    (folder := tmp_path / "read").mkdir()
    site = Site(tables, folder)
    builder = RunBuilder("Y", {"IDC-X": "X"}, "text", str.isupper)
    made = site.frame({ORDERS: (0, 100)}, any_headers(1)).mapInArrow(builder, to_sql(CUT_SCHEMA))
    cut = cut_by_tasks(made, ["X"])
    release_all(cut.kept)
    read = site.tasks_that_read()
    with pytest.raises(Exception, match="CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"):
        cut.kept[0].rows.count()
    assert site.tasks_that_read() == read
