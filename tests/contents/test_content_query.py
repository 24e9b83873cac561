"""Micro-batches of contents into ``record_fingerprints``: nothing left out, nothing twice, originals known at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from fakes.indexing import ORDERS, PAY, SECOND, Job, Plan
from fakes.newest_logs import known_config
from fakes.tables import MemoryFrame, PowerFailure
from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.model.values import ClusterPartition, OffsetRange
from offset_sync.state.cluster_clock import epoch_ms
from offset_sync.tables.catalog import INDEXED_TOPICS, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync_contents.content_query import FingerprintIndexer, QueryKind, range_rows
from offset_sync_contents.rows import FINGERPRINT, FingerprintBuilder, fingerprint_rows_of, stretches_of
from offset_sync_contents.settings import origin_of_log
from offset_sync_contents.table import RECORD_FINGERPRINTS

RAW = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()), (FINGERPRINT, pa.int64())])
Record = tuple[tuple[str, int], int, int]


class ContentsOf(Job):
    """Reads cluster Y's originals, or copies; *taken* are the rows that were handed over."""

    are_originals = True

    def restart(self) -> None:
        super().restart()
        builder = FingerprintBuilder("Y", {"IDC-X": "X"}, lambda stream: stream == "orders")
        kind, before = QueryKind(self.are_originals, self.take, self.progress), self.indexer
        parts: Any = (self.tables, self.plan, builder, before._checks, kind)
        self.indexer = FingerprintIndexer(*parts)
        self.taken: list[pa.Table] = []

    def take(self, rows: pa.Table) -> None:
        self.taken.append(rows)

    def read(self, batch_id: int, *records: Record) -> None:
        rows = [dict(zip(RAW.names, (*place, offset, hashed), strict=True)) for place, offset, hashed in records]
        frame: Any = MemoryFrame(pa.Table.from_pylist(rows, RAW), batch_rows=3)
        self.indexer(frame, batch_id)

    def stretches(self, place: tuple[str, int] = ORDERS) -> list[tuple[int, int, list[int], list[int]]]:
        rows = self.tables.all_rows(RECORD_FINGERPRINTS)
        mine = [each for log, each in stretches_of(rows) if log == ClusterPartition("Y", *place)]
        return sorted((s.begin, s.end, s.records.offset.tolist(), s.records.fingerprint.tolist()) for s in mine)


class CopiesOf(ContentsOf):
    are_originals = False


def test_rows_of_a_micro_batch_leave_nothing_out() -> None:
    job = ContentsOf(Plan({ORDERS: 5, SECOND: 0}, [{ORDERS: 15, SECOND: 2}]))
    job.read(0, *((ORDERS, offset, -offset) for offset in (6, 7, 8, 9, 11, 13)))
    assert job.stretches() == [(5, 15, [6, 7, 8, 9, 11, 13], [-6, -7, -8, -9, -11, -13])]
    assert job.stretches(SECOND) == [(0, 2, [], [])]
    assert sum(rows.num_rows for rows in job.taken) == 2


def test_rows_of_several_record_batches_are_put_together() -> None:
    builder = FingerprintBuilder("Y", {}, lambda _stream: True)
    rows = [dict(zip(RAW.names, (*ORDERS, offset, offset), strict=True)) for offset in (1, 2, 3, 5, 6, 9)]
    batches = pa.Table.from_pylist(rows, RAW).to_batches(max_chunksize=2)
    packed = pa.Table.from_batches(list(builder(batches)))
    at = datetime.fromtimestamp(1, timezone.utc)
    found = fingerprint_rows_of(ReadBatch(packed, {ORDERS: 0}, {ORDERS: 12}, at), "Y")
    spans = [(each.begin, each.end, each.records.offset.tolist()) for _, each in stretches_of(found)]
    assert spans == [(0, 12, [1, 2, 3, 5, 6, 9])]


def test_originals_are_runs_of_their_own_at_once_and_copies_are_nothing_yet() -> None:
    plan = Plan({ORDERS: 0}, [{ORDERS: 8}])
    for kind, runs in ((ContentsOf, [(0, 0, -1), (0, 2, 0), (3, 3, 3), (8, 0, 8)]), (CopiesOf, [])):
        job = kind(plan)
        job.read(0, *((ORDERS, offset, 1) for offset in (0, 1, 3, 4, 5)))
        assert [(start, length, at) for _, _, start, length, _, at in job.runs()] == runs
        assert {origin for _, _, _, _, origin, _ in job.runs()} == ({"Y"} if runs else set())


def test_unwanted_topics_that_the_pattern_matches_are_ignored() -> None:
    job = ContentsOf(Plan({ORDERS: 0, PAY: 0}, [{ORDERS: 1, PAY: 3}]))
    job.read(0, (ORDERS, 0, 1), (PAY, 0, 2), (PAY, 1, 2))
    assert job.stretches(PAY) == []
    assert {topic for topic, *_ in job.runs()} == {"orders"}
    assert job.topic_ids() == [("orders-1", 2)]


@pytest.mark.parametrize("table", [INDEXED_TOPICS, RECORD_FINGERPRINTS, RECORD_RUNS], ids=lambda table: table.name)
def test_killed_at_any_point_and_repeated_everything_is_there_once(table: Table) -> None:
    job = ContentsOf(Plan({ORDERS: 0}, [{ORDERS: 3}]))
    records = [(ORDERS, offset, offset) for offset in range(3)]
    job.tables.dies_at = table
    with pytest.raises(PowerFailure):
        job.read(0, *records)
    assert job.runs() == []  # never a run without its fingerprint
    job.restart()
    job.read(0, *records)
    job.read(0, *records)
    assert job.stretches() == [(0, 3, [0, 1, 2], [0, 1, 2])]
    assert [run[2:4] for run in job.runs()] == [(0, 0), (0, 3)]


ORIGINALS = ClusterPartition("dc1", "orders", 0)


@dataclass
class Reading(MemoryFrame):
    """Says when its records were read."""

    begun: list[datetime] = field(default_factory=list)

    def coalesce(self, _partitions: int) -> MemoryFrame:
        self.begun.append(datetime.now(timezone.utc))
        time.sleep(0.005)
        return self


def test_originals_that_are_read_again_count_as_read_before_a_life_that_is_noticed_meanwhile() -> None:
    """The log may be cut and noticed to be while they are read: then they are of the life before, or may be."""
    raw = pa.table({"topic": ["orders"], "partition": pa.array([0], pa.int32()), "offset": [3], FINGERPRINT: [7]})
    frame: Any = Reading(raw)
    rows = range_rows(ORIGINALS, OffsetRange(0, 4), FingerprintBuilder("dc1", {}, lambda _stream: True), frame)
    assert [epoch_ms(at) for at in rows.column("read_at").to_pylist()] <= [epoch_ms(frame.begun[0])]
    assert rows.column("length").to_pylist() == [4]


def test_logs_that_are_no_longer_read_have_no_originals() -> None:
    """A cluster that was taken out of the file, or a topic: the tables have them for long."""
    topics = {"include": [".*"], "overrides": [{"topics": ["old"], "strategy": "off"}]}
    contents = {"flows": [["dc1", "dc2"]], "exclusive": True}
    config = known_config(("dc1", "dc2"), extensions={"contents": contents}, topics=topics)
    read = [ClusterPartition(alias, topic, 0) for alias in ("dc1", "dc2", "dc3") for topic in ("orders", "old")]
    found = {each[:2]: origin_of_log(config, each) for each in read}
    assert found.pop(("dc1", "orders")) == found.pop(("dc2", "orders")) == "dc1"
    assert set(found.values()) == {None}
