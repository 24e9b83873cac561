"""Micro-batches of ``__consumer_offsets``: remembered, reconciled, and only then written down, each exactly once."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.commits import acknowledge
from builders.offset_records import commit_key, commit_value, group_key, member_key
from fakes.clusters import MemoryEnds, MemoryIndex, MemoryTopic
from fakes.ingest import WRITTEN_MS, Raw
from fakes.ingest import IngestingJob as Job
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables, PowerFailure
from fakes.unchecked import UNCHECKED
from generators.hypothesis_strategies import law
from offset_sync.ingest import commit_ingester
from offset_sync.ingest.commit_batch import committed_at_ms
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.kafka_source import read_whole_ranges
from offset_sync.ingest.polled_commits import CommitPoller, PollIngester
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError, UnknownVersionError
from offset_sync.model.values import (
    ABSENT,
    CONSUMER_OFFSETS,
    ClusterPartition,
    EpochChange,
    GroupPartition,
    OffsetRange,
    ReportedEnd,
    TopicPartition,
)
from offset_sync.state.cluster_clock import to_datetime as at
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.replay import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE

CLASSIC_EMPTY = bytes.fromhex("00030008636f6e73756d657200000005ffffffff0000018bcfe5680000000000")


def commit(offset: int, group: str = "g", **more: Any) -> Raw:
    return commit_key(group, "orders", 0), commit_value(offset, committed_at_ms=1_700_000_000_000, **more)


@pytest.fixture
def job() -> Job:
    return Job()


def test_each_record_becomes_a_row_with_all_it_says_and_malformed_bytes_are_kept_whole_with_the_reason(
    job: Job,
) -> None:
    key, value = commit(5)
    assert key is not None
    assert value is not None
    bad = [(key, value[:-3]), (None, b"v"), (key[:4], value), (key, b"\x00\x09" + value[2:])]
    of_groups = [(group_key("classic", 2), CLASSIC_EMPTY), (group_key("classic", 2), None), (group_key("n", 3), None)]
    of_groups += [(group_key("ignored", 6), b"\0\0"), (member_key("n", "m-1"), None)]
    made = commit(8, epoch=2, metadata="m", tags=[(0, bytes(range(16)))])
    job.ingest(7, *bad, *of_groups, made, first=40)
    assert (job.genuine(), job.reconciled) == ({"g": 8}, [(["g"], 7)])

    (row,) = job.tables.all_rows(OFFSET_COMMITS).to_pylist()
    assert row.pop("captured_at") > at(WRITTEN_MS)
    times = (row.pop("committed_at"), row.pop("made_at"))
    assert times == (at(1_700_000_000_000), at(WRITTEN_MS))
    where = ("topic_id", "00010203-0405-0607-0809-0a0b0c0d0e0f"), ("log_partition", 3), ("log_offset", 49)
    said = {"cluster": "X", "group_id": "g", "topic": "orders", "partition": 0, "metadata": "m", **dict(where)}
    said |= {"committed_offset": 8, "leader_epoch": 2, "is_tombstone": False, "is_own": False}
    assert {name: value for name, value in row.items() if value is not None} == said
    names = ("group_id", "kind", "member_id", "generation", "members", "log_offset", "at")
    assert job.tables.rows(GROUP_EVENTS, *names) == [
        ("classic", "classic", None, 5, 0, 44, at(WRITTEN_MS)),
        ("classic", "classic_removed", None, None, None, 45, at(WRITTEN_MS)),
        ("n", "epoch_removed", None, None, None, 46, at(WRITTEN_MS)),
        ("n", "member_removed", "m-1", None, None, 48, at(WRITTEN_MS)),
    ]
    found = job.tables.rows(QUARANTINE, "offset", "key", "value", "error")
    assert [(*raw, bool(reason)) for _, *raw, reason in found] == [(*raw, True) for raw in bad]


def test_a_batch_whose_history_could_not_be_written_says_the_same_when_it_comes_again(job: Job) -> None:
    acknowledge(job.offsets, 9, 1, group="c")
    job.tables.dies_at = OFFSET_COMMITS
    records = commit(9, "c", metadata="m"), commit(12, "c", metadata="n")
    with pytest.raises(PowerFailure):
        job.ingest(0, *records)
    job.ingest(0, *records)
    job.ingest(1, commit(9, "c", metadata="m"), first=2)
    assert job.commits("log_offset", "is_own") == [(0, True), (1, False), (2, False)]


def test_what_was_read_of_ours_is_ours_again_where_a_log_was_cut_between_two_tries(job: Job) -> None:
    acknowledge(job.offsets, 7, WRITTEN_MS)
    job.tables.dies_at = OFFSET_COMMITS
    with pytest.raises(PowerFailure):
        job.ingest(0, commit(5), commit(7))
    job.ingest(0, commit(7))
    assert job.commits("is_own") == [(True,)]


def test_the_first_micro_batch_of_a_query_may_have_been_planned_before_those_that_ended_here(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    since = list[bool]()
    monkeypatch.setattr(job.state, "made_ms", lambda _alias, at_ms, read: since.append(read.since_ms > ABSENT) or at_ms)
    for number in range(7):
        if number in (0, 3):
            job.batch.note_start()
        job.ingest(number, commit(number))
    assert since == [False, False, True, False, False, True, True]


def test_until_every_log_is_read_commits_are_only_remembered(job: Job) -> None:
    job.is_ready.clear()
    job.ingest(0, commit(5))
    assert (job.reconciled, job.genuine(), job.commits("committed_offset")) == ([], {"g": 5}, [(5,)])
    job.is_ready.set()
    job.ingest(1, commit(6), first=1)
    assert job.reconciled == [(["g"], 1)]


def test_a_repeated_batch_reconciles_again_and_is_written_once(job: Job) -> None:
    records = [commit(5), (None, b"v"), (group_key("g"), None)]
    for _ in range(3):
        job.ingest(0, *records)
    assert job.reconciled == [(["g"], 0)] * 3
    counts = [len(job.tables.rows(table, "cluster")) for table in (OFFSET_COMMITS, QUARANTINE, GROUP_EVENTS)]
    assert counts == [1, 1, 1]


def test_spark_reads_only_committed_records() -> None:
    spark = MagicMock()
    read_whole_ranges(spark, config_of("XY"), "X", {TopicPartition(CONSUMER_OFFSETS, 7): OffsetRange(0, 1)})
    options = spark.read.format.return_value.options.call_args.kwargs
    assert options["kafka.isolation.level"] == "read_committed"


def test_of_a_commit_with_a_time_that_is_no_date_the_time_of_its_record_counts() -> None:
    said, written = [7_000, -1, 253_402_300_800_000, 2**62, None], pa.array([5_000_000] * 5, pa.timestamp("us", "UTC"))
    commits = pa.table({"timestamp": written, "committed_at_ms": pa.array(said, pa.int64())})
    assert committed_at_ms(commits).tolist() == [7_000, 5_000, 5_000, 5_000, 5_000]


# Whether a planned micro-batch reads all: what it leaves for the next one may be as old as the log


@law(300)
@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=50), st.integers(1, 20_000))
def test_a_plan_that_leaves_records_for_the_next_one_is_never_whole(sizes: list[int], most: int) -> None:
    """Spark's source for Kafka gives each log its share of *most* records, rounded."""
    shares = [most * (size / max(1, sum(sizes))) for size in sizes]
    planned = [min(size, math.ceil(share) if share < 1 else math.floor(share)) for size, share in zip(sizes, shares)]
    checkpoint: Any = SimpleNamespace(record_limit=lambda _batch: sum(planned), end_offsets=lambda _batch: planned)
    ingester = CommitIngester("dc1", MagicMock(), checkpoint, MagicMock(), 1, Reading(UNCHECKED, MagicMock()))
    with patch("offset_sync.ingest.commit_ingester.COMMITS_PER_TRIGGER", most):
        is_whole = ingester.is_whole(0)
    if sum(planned) < sum(sizes):
        assert not is_whole
    elif sum(planned) < most - len(sizes):
        assert is_whole


# Commits of an unknown version


def test_when_a_cluster_writes_a_new_version_nothing_is_passed_and_the_line_says_what_to_do() -> None:
    job = Job(most_records=1000)
    new = [(commit_key("g", "t", n), commit_value(5, version=7)) for n in range(9)]
    known = [(commit_key("g", "t", n), commit_value(5)) for n in range(50)]
    job.ingest(0, *known, *new)
    for _ in range(2):
        with pytest.raises(UnknownVersionError) as raised:
            job.ingest(1, new[0], *known, first=59)
        assert str(raised.value) == (
            "clusters.X: 10 offset commits have an unknown version, as value version 7 at __consumer_offsets-3 "
            "offset 59 (known: up to 4); update Offset Sync: it reads no further"
        )
    assert (len(job.commits("group_id")), len(job.tables.rows(QUARANTINE, "error")), len(job.reconciled)) == (50, 9, 1)


# Micro-batches that another driver took in: they do not come again, so the state loads them from the table


def test_records_between_two_batches_are_loaded_and_reconciled_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    job, asked = Job(), list[list[str]]()

    def load(_tables: Any, state: SyncState, _lives: Any, clusters: list[str]) -> None:
        asked.append(clusters)
        state.offsets.ids([GroupPartition("missed", "orders", 0)])

    job.ingest(3, commit := (commit_key("g", "orders", 0), commit_value(4)))
    monkeypatch.setattr(commit_ingester, "restore_commits", load)
    for batch_id in (4, 4, 5, 8):  # which follow each other, or come again
        assert not asked
        job.ingest(batch_id, commit)
    assert asked == [["X"]]
    assert job.reconciled[-2:] == [(["g"], 5), (["g", "missed"], 8)]


LOG = TopicPartition(CONSUMER_OFFSETS, 3)


class Site:
    """Micro-batches of a log of X that end at 3 and at 5; the log ends at *log_end*, and was *cut_at* an offset."""

    log_end, cut_at, is_silent = 5, 5, False

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return {LOG: 3 * batch_id}

    def end_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return {LOG: (3, 5)[batch_id]}

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, Any]:
        ends = {each: MemoryEnds(0, self.log_end, int(self.cut_at < 5)) for each in wanted["X"] if not self.is_silent}
        return {"X": ClusterMetadata({CONSUMER_OFFSETS: MemoryTopic("id", 8)}, ends)}

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        return dict.fromkeys(epochs, ReportedEnd(self.cut_at))

    def reaches(self) -> dict[ClusterPartition, int]:
        return {ClusterPartition("X", *LOG): 3}


def test_one_that_was_cut_is_read_again_from_there_as_far_as_it_goes_and_no_write_of_ours_is_certain() -> None:
    site: Any = Site()
    tables: Any = MemoryTables()
    check = CommitLogCheck("X", site, site, IncarnationCheck(tables, {"X": site}, site.reaches))
    check.was_read_again(check.look(0))
    assert check.look(0)[1:] == ({}, frozenset(), frozenset(), True)
    site.log_end, site.cut_at, site.is_silent = 4, 2, True
    with pytest.raises(ClusterError, match="no answer about __consumer_offsets-3, which was read"):
        check.look(1)
    site.is_silent = False
    looked = check.look(1)
    assert (looked.again, looked.is_certain) == ({LOG: (2, 4)}, False)
    assert not check.look(1).is_certain  # the first try may have failed before it forgot what was acknowledged
    check.was_read_again(looked)
    assert check.look(1).is_certain


def poll(tables: Any, now_ms: int, **offsets: int) -> None:
    """Take in micro-batch 0 of a new driver, where the groups have committed these *offsets* of orders-0."""
    state = SyncState(config_of(["X", "Y"]), MemoryIndex(), lambda: now_ms)
    lives = CommitLogIncarnations(tables, {"X"})
    restore_commits(tables, state, lives)
    held = {group: {TopicPartition("orders", 0): Committed(offset, "meta", 7)} for group, offset in offsets.items()}
    coordinators: Any = SimpleNamespace(
        alias="X",
        groups=lambda _deadline: [*held],
        groups_of_all_types=lambda _deadline: [*held],
        committed_offsets=lambda groups, _deadline: {group: held.get(group, {}) for group in groups},
    )
    checkpoint: Any = SimpleNamespace(query_id=lambda: "query")
    poller = CommitPoller(coordinators, state, lambda _group: True, threading.Lock(), lambda: 0.0)
    ingester = PollIngester("X", tables, checkpoint, poller, state, lives)
    batch = ingester.decode(None, 0)
    batch = batch.with_made(batch.timestamp_ms)
    ingester.write(batch, state.record("X", batch.keys, batch.commit_records).is_own)


def test_a_repeated_micro_batch_of_the_next_driver_polls_again_and_loses_nothing() -> None:
    tables = MemoryTables()
    poll(tables, 1_005_000, g=100)  # and dies before Spark notes it
    poll(tables, 1_010_000, g=200, h=5)
    rows = tables.rows(OFFSET_COMMITS, "group_id", "committed_offset", "captured_by", "leader_epoch", "log_offset")
    found = [("g", 100, 1_005_000), ("g", 200, 1_010_000), ("h", 5, 1_010_000)]
    assert rows == [(group, offset, "admin", 7, at_ms) for group, offset, at_ms in found]
