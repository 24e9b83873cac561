"""Logs that an earlier version has indexed or read, which recorded no incarnations."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.commit_log import CommitLogJob, commit, restore
from fakes.indexing import ORDERS, Job, Plan
from offset_sync.ingest import commit_ingester
from offset_sync.tables.catalog import LOG_INCARNATIONS


def lives(job: Job) -> list[tuple[Any, ...]]:
    return job.tables.rows(LOG_INCARNATIONS, "cluster", "leader_epoch", "begins_at", "reason")


def indexed() -> Job:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 3}, {ORDERS: 5}]))
    job.index(0, *((ORDERS, offset, None) for offset in range(3)))
    job.tables.versions.pop(LOG_INCARNATIONS.name, None)  # an earlier version had no such table
    return job


def test_a_log_of_which_an_earlier_version_knew_two_lives_stays_withheld(caplog: pytest.LogCaptureFixture) -> None:
    """It is unknown which of its copies are of which incarnation."""
    job = indexed()
    job.topics["orders"] = MemoryTopic("orders-2", 2)
    job.restart()
    job.index(1, (ORDERS, 3, None), (ORDERS, 4, None))
    assert [life for life in lives(job) if life[2] is not None] == []
    assert job.topic_ids() == [("orders-1", 2), ("orders-2", 2)]
    assert caplog.text.count("clusters.Y: orders-0: indexed in two incarnations; withheld until indexed again") == 1


def test_a_log_that_an_earlier_version_has_indexed_goes_on() -> None:
    job = indexed()
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 5, leader_epoch=7)}}
    job.restart()
    job.index(1, (ORDERS, 3, None), (ORDERS, 4, None))
    assert lives(job) == [("Y", 7, None, None)]


def test_a_log_that_is_shorter_than_an_earlier_version_has_read_it_is_read_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commit_ingester, "restore_commits", restore)  # without Spark
    job = CommitLogJob(log=[commit(9), commit(10, "other"), commit(11, "other")])
    job.take_in()
    job.tables.versions.pop(LOG_INCARNATIONS.name)
    job.recreate(commit(4), commit(1, "new"))
    fresh = job.restarted()
    fresh.take_in()
    assert fresh.genuine() == {"g": 4, "other": 11, "new": 1}
    assert fresh.reasons() == [(0, 0, "LOG_TRUNCATED"), (0, None, "READ_AGAIN")]
