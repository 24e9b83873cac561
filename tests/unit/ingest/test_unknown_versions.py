"""Commits of an unknown version: a few are broken records, many stop the query before they are passed."""

from __future__ import annotations

import pytest

from builders.offset_records import commit_key, commit_value, group_key
from fakes.ingest import IngestingJob as Job
from fakes.ingest import Raw
from offset_sync.ingest.commit_log_check import LEAST_RECORDS
from offset_sync.model.errors import UnknownVersionError
from offset_sync.tables.catalog import OFFSET_COMMITS, QUARANTINE

FEW = LEAST_RECORDS - 1


@pytest.fixture
def job() -> Job:
    return Job(most_records=1000)


def new(count: int) -> list[Raw]:
    """Commits as a broker of the future writes them."""
    return [(commit_key("g", "t", n), commit_value(5, version=7)) for n in range(count)]


def known(count: int) -> list[Raw]:
    return [(commit_key("g", "t", n), commit_value(5)) for n in range(count)]


def counts(job: Job) -> tuple[int, int]:
    return len(job.commits("group_id")), len(job.tables.rows(QUARANTINE, "error"))


def test_when_a_cluster_writes_a_new_version_nothing_is_passed_and_the_line_says_what_to_do(job: Job) -> None:
    for _ in range(2):
        with pytest.raises(UnknownVersionError) as raised:
            job.ingest(0, *known(50), *new(12))
        assert str(raised.value) == (
            "clusters.X: 12 offset commits (100% since the first) have an unknown version, as value version 7 at "
            "__consumer_offsets-3 offset 50 (known: up to 4); update Offset Sync: it reads no further"
        )
    assert (counts(job), job.reconciled) == ((0, 0), [])


def test_a_few_broken_records_are_put_in_quarantine(job: Job) -> None:
    job.ingest(0, *known(3), *new(FEW))
    assert counts(job) == (3, FEW)


def test_they_are_counted_over_micro_batches_and_one_that_fails_for_another_reason_counts_once(job: Job) -> None:
    """Else five broken records and two retries would stop the query."""
    job.reconcile_errors = [RuntimeError("another"), RuntimeError("reason")]
    for _ in range(2):
        with pytest.raises(RuntimeError):
            job.ingest(0, *new(FEW // 2))
    job.ingest(0, *new(FEW // 2))
    job.ingest(1, *new(FEW - FEW // 2), first=FEW)
    assert counts(job) == (0, FEW)
    with pytest.raises(UnknownVersionError):
        job.ingest(2, *new(1), first=2 * FEW)
    assert counts(job) == (0, FEW)


def test_many_broken_ones_among_more_that_can_be_read_are_no_new_version(job: Job) -> None:
    mixed = [record for pair in zip(new(30), known(30), known(30), strict=True) for record in pair]
    job.ingest(0, *mixed)
    job.ingest(1, *new(LEAST_RECORDS), first=90)
    assert counts(job) == (60, 30 + LEAST_RECORDS)


def test_tombstones_have_no_version_and_other_broken_records_are_none(job: Job) -> None:
    tombstones: list[Raw] = [(commit_key("g", "t", n), None) for n in range(40)]
    with pytest.raises(UnknownVersionError):
        job.ingest(0, *new(1), *tombstones, *new(LEAST_RECORDS))
    broken: list[Raw] = [(commit_key("g", "t", n), b"\0\4") for n in range(40)]
    groups: list[Raw] = [(group_key("g"), b"\0\x63")] * 40
    job.ingest(0, *broken, *groups)
    assert len(job.tables.rows(QUARANTINE, "error")) == 80
    assert job.tables.rows(OFFSET_COMMITS, "group_id") == []
