"""``__consumer_offsets`` is cut or recreated: noticed, read again, and what is known is what its coordinator holds."""

from __future__ import annotations

import pytest

from builders.commits import acknowledge
from fakes.commit_log import CommitLogJob, commit, restore
from offset_sync.ingest import commit_ingester
from offset_sync.model.errors import ClusterError
from offset_sync.tables.catalog import LOG_INCARNATIONS


@pytest.fixture(autouse=True)
def by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore without Spark."""
    monkeypatch.setattr(commit_ingester, "restore_commits", restore)


def read_job(*records: tuple[bytes | None, bytes | None]) -> CommitLogJob:
    """Return a job that has read a log of these records."""
    job = CommitLogJob(log=list(records))
    job.take_in()
    return job


def test_what_was_acknowledged_and_never_read_may_be_gone_with_a_leader() -> None:
    job = read_job(commit(5))
    for group, offset in (("g", 12), ("first", 13)):
        acknowledge(job.offsets, offset, group=group)
    job.cut(1, commit(1, "new"))
    job.take_in()
    assert [job.known(group)["actual_offset"] for group in ("g", "first")] == [5, -1]


@pytest.mark.parametrize(
    ("silent", "said"),
    [("is_silent", "does not answer"), ("is_leader_silent", "no answer about __consumer_offsets-3, which was read")],
)
def test_while_a_cluster_or_the_leader_does_not_answer_nothing_is_taken_in(silent: str, said: str) -> None:
    job = read_job(commit(5))
    job.log.append(commit(8))
    setattr(job, silent, True)
    with pytest.raises(ClusterError, match=said):
        job.take_in()
    assert (job.genuine(), job.commits("committed_offset")) == ({"g": 5}, [(5,)])
    setattr(job, silent, False)
    job.take_in()
    assert job.genuine() == {"g": 8}


def test_one_that_was_cut_is_read_as_it_is_now_whatever_could_be_read_of_it_before() -> None:
    job = CommitLogJob(log=[commit(1), commit(2), commit(3)])
    job.take_in()
    job.log += [commit(4), commit(5)]
    job.ends_by_batch.append(5)
    job.cut(2, commit(7))
    job.unread = "the log ends at offset 3"
    job.take_in(read=[])
    assert job.known()["genuine_offset"] == 7


def test_a_log_that_is_shorter_than_a_first_micro_batch_was_planned_is_read_from_its_beginning() -> None:
    job = read_job(commit(9), commit(10, "other"), commit(11, "other"))
    job.tables.versions.pop(LOG_INCARNATIONS.name)
    job.recreate(commit(4), commit(1, "new"))
    fresh = job.restarted()
    fresh.take_in()
    assert fresh.genuine() == {"g": 4, "other": 11, "new": 1}
    assert fresh.reasons() == [(0, 0, "LOG_TRUNCATED"), (0, None, "READ_AGAIN")]
