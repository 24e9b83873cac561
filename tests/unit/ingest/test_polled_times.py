"""When a polled commit may have been made, and which of several records of a key is the newest."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from fakes.clusters import CommitRecord, MemoryIndex, to_records
from fakes.polled_job import KEY, ORDERS, Broker, Job
from fakes.reconciler_site import config_of
from offset_sync.ingest import polled_commits
from offset_sync.kafka.requests import TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, POLLED, GroupPartition, TopicPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS


def since_ms(job: Job, group_id: str = "g") -> int:
    return job.known("genuine_at_ms", GroupPartition(group_id, *ORDERS))


def back_at_the_log(job: Job) -> SyncState:
    """Return the state of the next driver, which reads the log of X."""
    tables: Any = job.tables
    config = config_of(["X", "Y"], sync={"home_silence": "10s"})
    state = SyncState(config, MemoryIndex(), lambda: job.now_ms)
    restore_commits(tables, state, CommitLogIncarnations(tables))
    return state


def test_a_group_that_did_not_answer_may_have_committed_ever_since_it_did() -> None:
    job = Job(Broker())
    job.broker.commit(10)
    job.poll(0)  # asked at 1,005 s
    job.broker.refused["g"] = TransientError("X", "COORDINATOR_NOT_AVAILABLE")
    job.broker.commit(80)
    for number in range(1, 100):
        job.poll(number)
    del job.broker.refused["g"]
    job.poll(100)
    assert (job.known("genuine_offset"), since_ms(job)) == (80, 1_005_000)


def test_a_group_that_was_not_asked_before_may_have_committed_at_any_time() -> None:
    job = Job(Broker())
    job.broker.commit(10)
    job.poll(0)
    job.broker.is_listing = False
    job.broker.commit(80, "unlisted")
    job.poll(1)
    job.broker.is_listing = True
    job.poll(2)
    assert since_ms(job, "unlisted") == ABSENT
    job.broker.commit(90, "unlisted")
    job.poll(3)
    assert since_ms(job, "unlisted") == 1_015_000


def test_a_group_that_is_included_later_may_have_committed_at_any_time() -> None:
    job = Job(Broker())
    job.broker.commit(10, "g")
    job.broker.commit(80, "late")
    job.included = {"g"}
    job.poll(0)
    job.poll(1)
    after = Job(job.broker, job.tables, job.now_ms)
    after.poll(2)
    assert (since_ms(after, "late"), since_ms(after)) == (ABSENT, ABSENT)


def test_what_was_committed_while_a_poll_took_long_is_not_dated_after_it() -> None:
    job = Job(Broker())
    job.broker.commit(10)
    job.broker.takes = lambda: job.pass_time(8_000)
    job.poll(0)  # begins at 1,005 s
    job.broker.commit(80)
    after = Job(job.broker, job.tables, job.now_ms + 3_600_000)
    after.poll(1)
    assert since_ms(after) == since_ms(Job(job.broker, job.tables, after.now_ms)) == 1_005_000
    job.poll(1)
    assert since_ms(job) == 1_005_000


def test_what_a_failed_poll_has_found_is_not_dated_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polled_commits, "GROUPS_AT_ONCE", 1)
    job = Job(Broker())
    job.broker.commit(10)
    job.broker.commit(1, "h")
    job.poll(0)
    job.broker.commit(80)
    job.broker.raises = "h"
    with pytest.raises(ClusterError):
        job.poll(1)
    job.broker.raises = ""
    job.poll(1)
    assert (job.known("genuine_offset"), since_ms(job)) == (80, 1_005_000)


def test_after_a_phase_of_the_log_its_newer_records_count_and_not_older_polls() -> None:
    job = Job(Broker())
    job.write(100)
    job.poll(0)
    polled = job.tables.all_rows(OFFSET_COMMITS)
    (row,) = polled.to_pylist()
    later = row["captured_at"] + timedelta(hours=1)
    for number, offset in enumerate([150, 100]):
        by_log = row | {"committed_offset": offset, "is_own": False, "log_partition": 3, "log_offset": 7 + number}
        by_log |= {"captured_at": later, "captured_by": None, "not_before": None, "made_at": later}
        job.tables.append(OFFSET_COMMITS, type(polled).from_pylist([by_log], polled.schema))
    after = Job(job.broker, job.tables, job.now_ms + 7_200_000)
    assert (after.known("actual_offset"), after.known("actual_is_own"), after.known("genuine_offset")) == (100, 0, 100)


def test_what_the_log_has_brought_between_two_polls_may_be_older_than_the_first() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.broker.commit(5, place=TopicPartition("orders", 1))  # whose record is that of the poll
    job.poll(0)
    polled = job.tables.all_rows(OFFSET_COMMITS)
    row = next(each for each in polled.to_pylist() if each["partition"] == ORDERS.partition)
    by_log = row | {"log_partition": 3, "log_offset": 7, "captured_by": None, "not_before": None}
    by_log |= {"captured_at": row["captured_at"] + timedelta(hours=1)}
    job.tables.append(OFFSET_COMMITS, type(polled).from_pylist([by_log], polled.schema))
    after = Job(job.broker, job.tables, job.now_ms + 7_200_000)
    after.poll(1)
    assert since_ms(after) == ABSENT


def test_what_we_have_written_while_the_log_was_read_is_ours_when_the_first_poll_finds_it() -> None:
    job = Job(Broker())
    job.write(100)
    job.poll(0)
    polled = job.tables.versions["offset_commits"].pop()
    as_log = polled.to_pylist()[0] | {"log_partition": 3, "log_offset": 900, "captured_by": None, "not_before": None}
    job.tables.append(OFFSET_COMMITS, type(polled).from_pylist([as_log], polled.schema))
    after = Job(job.broker, job.tables, job.now_ms)
    after.poll(1)
    assert after.rows("log_partition", "is_own") == [(3, True), (POLLED, True)]


def test_a_write_in_doubt_is_no_commit_of_the_group_and_may_still_arrive() -> None:
    job = Job(Broker())
    job.broker.commit(50)
    job.poll(0)
    key = job.state.offsets.ids([KEY])
    writes = job.state.offsets.clusters["X"].own_writes
    writes.begin(key, np.array([60]))
    writes.doubt(key, np.array([60]))
    job.poll(1)
    assert job.rows("committed_offset") == [(50,)]
    job.broker.commit(60)
    job.poll(2)
    assert job.rows("committed_offset", "is_own") == [(50, False), (60, True)]


def test_back_at_the_log_polls_tell_nothing_of_the_clusters_clock() -> None:
    job = Job(Broker())
    job.broker.commit(10)
    job.poll(0)
    job.broker.commit(80)
    job.poll(1, after_ms=3_600_000)
    assert back_at_the_log(job).offsets.clusters["X"].clock.ahead_ms is None


def test_back_at_the_log_a_polled_commit_may_still_be_as_old_as_it_was() -> None:
    job = Job(Broker())
    job.broker.commit(10)
    job.poll(0)
    state = back_at_the_log(job)
    state.record("Y", [KEY], to_records([CommitRecord("g", ORDERS, 7, at_ms=900_000)], [0], 0))
    job.pass_time(3_600_000)
    assert state.homes_of(state.all_rows()).is_contested.tolist() == [True]
