"""MirrorMaker's group sync beside us: its commits make no cluster the owner."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from builders.mirror_checkpoints import checkpoint
from fakes.mirrored_ingest import AN_HOUR_AGO_MS, NOW_MS, MirroredJob, commit, job_with
from offset_sync.ingest.mirror_commits import LATE_S
from offset_sync.kafka.error_codes import NotAuthorizedError, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition
from offset_sync.state.committed_offsets import OWN_TAG


def test_its_commit_is_nobodys_own_and_reconciles_nothing() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100))
    assert job.genuine_offset() == -1
    assert job.commits("committed_offset", "is_own") == [(100, True)]
    assert job.reconciled == [([], 0)]


def test_what_stands_there_may_be_replaced_up_or_down() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100))
    columns = job.offsets.clusters["X"].columns
    assert (columns["actual_offset"][0], bool(columns["actual_is_own"][0])) == (100, True)


def test_a_commit_with_a_leader_epoch_is_a_consumers_whatever_its_offset() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100, epoch=5))
    assert job.genuine_offset() == 100
    assert job.said.reads == 0


def test_a_consumer_that_starts_where_it_was_put_and_says_so_is_its_own() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100))
    job.ingest(1, commit(100, AN_HOUR_AGO_MS + 5_000, epoch=5), first=1)
    assert job.genuine_offset() == 100


def test_a_reset_by_a_person_to_another_offset_is_genuine() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(90))
    assert job.genuine_offset() == 90
    assert job.waited_s == 0  # an hour old: no checkpoint of it comes any more


def test_where_no_mirror_maker_is_nobody_waits() -> None:
    job = MirroredJob()
    job.ingest(0, commit(100, NOW_MS))
    assert (job.genuine_offset(), job.waited_s, job.said.reads) == (100, 0, 1)


def test_a_checkpoint_that_comes_after_the_commit_is_waited_for() -> None:
    job = job_with((50, AN_HOUR_AGO_MS))
    job.meanwhile = lambda: job.said.say(checkpoint(100, NOW_MS)) if 1 <= job.waited_s < 1.25 else None
    job.ingest(0, commit(100, NOW_MS))
    assert job.genuine_offset() == -1
    assert 1 <= job.waited_s < LATE_S


def test_also_for_the_first_one_of_all() -> None:
    job = job_with()
    job.meanwhile = lambda: job.said.say(checkpoint(100, NOW_MS)) if job.waited_s == 0.25 else None
    job.ingest(0, commit(100, NOW_MS))
    assert job.genuine_offset() == -1


def test_a_checkpoint_that_does_not_come_is_not_waited_for_for_ever() -> None:
    job = job_with((50, AN_HOUR_AGO_MS))
    job.ingest(0, commit(100, NOW_MS))
    assert job.genuine_offset() == 100
    assert job.waited_s <= LATE_S + 0.5


def test_our_own_commits_are_not_asked_about_with_the_tag_or_without() -> None:
    job = job_with((50, AN_HOUR_AGO_MS))
    key = job.offsets.ids([GroupPartition("g", "orders", 0)])
    job.offsets.clusters["X"].begin(key, np.array([70]), NOW_MS)
    job.ingest(0, commit(60, NOW_MS, metadata=OWN_TAG), commit(70, NOW_MS, metadata="carried"))
    assert (job.genuine_offset(), job.said.reads) == (-1, 0)


def test_checkpoints_that_do_not_answer_end_the_batch_and_it_comes_again() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.said.error = TransientError("X", "does not answer")
    with pytest.raises(ClusterError):
        job.ingest(0, commit(100))
    assert job.commits("committed_offset") == []
    job.said.error = None
    job.ingest(0, commit(100))
    assert job.genuine_offset() == -1


def test_checkpoints_that_may_not_be_read_leave_commits_genuine() -> None:
    job = MirroredJob()
    job.said.error = NotAuthorizedError("X", "Y.checkpoints.internal", "Read")
    job.ingest(0, commit(100, NOW_MS))
    assert job.genuine_offset() == 100


def test_it_is_said_once_with_the_remedy(caplog: pytest.LogCaptureFixture) -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 2_000), (110, AN_HOUR_AGO_MS))
    with caplog.at_level(logging.WARNING):
        job.ingest(0, commit(100))
        job.ingest(1, commit(110, AN_HOUR_AGO_MS + 1_000), first=1)
    told = [record.getMessage() for record in caplog.records if "MirrorMaker" in record.getMessage()]
    assert len(told) == 1
    assert "sync.group.offsets.enabled = false" in told[0]
