"""What a micro-batch says of when the next one should come."""

from __future__ import annotations

import pytest

from builders.offset_records import commit_key, commit_value, group_key
from fakes.ingest import IngestingJob, Raw

CLASSIC_EMPTY = bytes.fromhex("00030008636f6e73756d657200000005ffffffff0000018bcfe5680000000000")


def commit(offset: int) -> Raw:
    return commit_key("g", "orders", 0), commit_value(offset, committed_at_ms=1_700_000_000_000)


@pytest.fixture
def job() -> IngestingJob:
    return IngestingJob()


def test_commits_of_groups_make_the_next_one_urgent(job: IngestingJob) -> None:
    for offset in (5, 6):
        job.write_as_we_do("g", offset)
    job.ingest(0, commit(5))
    job.ingest(1, commit(6), commit(7), first=1)
    assert job.batch.is_urgent


@pytest.mark.parametrize("record", [commit(7), (group_key("g"), CLASSIC_EMPTY)], ids=["ours", "of members"])
def test_what_no_target_waits_for_does_not(job: IngestingJob, record: Raw) -> None:
    job.ingest(0, commit(5))
    job.write_as_we_do("g", 7)
    job.ingest(1, record, first=1)
    assert not job.batch.is_urgent


def test_nor_does_it_wait_while_its_log_is_on_the_way_to_being_read(job: IngestingJob) -> None:
    job.is_ready.clear()
    job.write_as_we_do("g", 5)
    job.ingest(0, commit(5))
    assert job.batch.is_urgent
