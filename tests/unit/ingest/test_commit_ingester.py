"""Micro-batches of ``__consumer_offsets``: remembered, reconciled, and only then written down, each exactly once."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from builders.commits import acknowledge
from builders.offset_records import commit_key, commit_value, group_key, member_key
from fakes.ingest import WRITTEN_MS, Raw
from fakes.ingest import IngestingJob as Job
from fakes.tables import PowerFailure
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE

CLASSIC_EMPTY = bytes.fromhex("00030008636f6e73756d657200000005ffffffff0000018bcfe5680000000000")


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


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
    assert {name: value for name, value in row.items() if value is not None} == {
        "cluster": "X",
        "group_id": "g",
        "topic": "orders",
        "partition": 0,
        "committed_offset": 8,
        "leader_epoch": 2,
        "metadata": "m",
        "topic_id": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "committed_at": at(1_700_000_000_000),
        "made_at": at(WRITTEN_MS),
        "is_tombstone": False,
        "is_own": False,
        "log_partition": 3,
        "log_offset": 49,
    }
    names = ("group_id", "kind", "member_id", "generation", "members", "log_offset")
    assert job.tables.rows(GROUP_EVENTS, *names) == [
        ("classic", "classic", None, 5, 0, 44),
        ("classic", "classic_removed", None, None, None, 45),
        ("n", "epoch_removed", None, None, None, 46),
        ("n", "member_removed", "m-1", None, None, 48),
    ]
    assert {*job.tables.rows(GROUP_EVENTS, "cluster", "at", "log_partition")} == {("X", at(WRITTEN_MS), 3)}
    found = job.tables.rows(QUARANTINE, "offset", "key", "value", "cluster", "topic", "partition")
    where = ("X", "__consumer_offsets", 3)
    assert found == [(offset, *raw, *where) for offset, raw in enumerate(bad, 40)]
    reasons = [reason for (reason,) in job.tables.rows(QUARANTINE, "error")]
    assert "value version 9 is unknown for record type 1" in reasons
    assert all(reasons)


def test_a_batch_whose_history_could_not_be_written_says_the_same_when_it_comes_again(job: Job) -> None:
    acknowledge(job.offsets, 9, 1, group="c")
    job.tables.dies_at = OFFSET_COMMITS
    records = commit(9, "c", metadata="m"), commit(12, "c", metadata="n")
    with pytest.raises(PowerFailure):
        job.ingest(0, *records)
    job.ingest(0, *records)
    job.ingest(1, commit(9, "c", metadata="m"), first=2)
    assert job.commits("log_offset", "is_own") == [(0, True), (1, False), (2, False)]


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
