"""Commits polled from coordinators: what is new, when it may have been made, and polls that are repeated or overtaken.

Worlds with polls of the simulation hold the rest.
"""

from __future__ import annotations

import pytest

from fakes.polled_job import ORDERS, Broker, Job
from offset_sync.kafka.requests import TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, POLLED, GroupPartition
from offset_sync.tables.catalog import OFFSET_COMMITS


def test_a_poll_brings_what_is_new_with_the_times_of_both_polls() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.broker.commit(9, "console-consumer-1")  # excluded
    job.poll(0)
    assert (job.known("genuine_at_ms"), job.known("genuine_made_ms")) == (ABSENT, 1_005_000), "any time before"
    job.poll(1)
    job.broker.commit(120)
    job.poll(2)
    rows = job.tables.all_rows(OFFSET_COMMITS).sort_by("log_offset").to_pylist()
    assert [(row["committed_offset"], row["log_partition"], row["log_offset"]) for row in rows] == [
        (100, POLLED, 1_005_000),
        (120, POLLED, 1_015_000),
    ]
    assert [row["captured_by"] for row in rows] == ["admin", "admin"]
    assert [row["not_before"] and row["not_before"].timestamp() for row in rows] == [None, 1010.0]
    assert [row["committed_at"].timestamp() for row in rows] == [1005.0, 1015.0]
    assert [(row["leader_epoch"], row["metadata"], row["is_own"]) for row in rows] == [(7, "meta", False)] * 2
    assert (job.known("genuine_at_ms"), job.known("genuine_made_ms"), job.known("genuine_epoch")) == (
        1_010_000,
        1_015_000,
        7,
    )


def test_a_repeated_micro_batch_of_the_next_driver_polls_again_and_loses_nothing() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.poll(0)  # and dies before Spark notes it
    job.broker.commit(200)
    job.broker.commit(5, "h")
    after = Job(job.broker, job.tables, job.now_ms)
    after.poll(0)
    assert after.rows("group_id", "committed_offset") == [("g", 100), ("g", 200), ("h", 5)]
    assert after.known("genuine_at_ms") == 1_005_000  # the last poll that is recorded


def test_at_first_every_group_has_to_answer_and_later_the_others_go_on() -> None:
    """And all are to be listed; later those that are known are polled without a list."""
    job, other = Job(Broker()), GroupPartition("h", *ORDERS)
    job.broker.commit(100)
    job.broker.commit(7, "h")
    job.broker.refused["h"] = TransientError("X", "COORDINATOR_LOAD_IN_PROGRESS")
    with pytest.raises(TransientError):
        job.poll(0)
    job.broker.refused.clear()
    job.broker.is_listing = False
    with pytest.raises(ClusterError, match="does not list"):
        job.poll(0)
    job.broker.is_listing = True
    job.poll(0)
    job.broker.refused["h"] = TransientError("X", "COORDINATOR_LOAD_IN_PROGRESS")
    job.broker.is_listing = False
    job.broker.commit(110)
    job.broker.commit(8, "h")
    job.poll(1)
    assert (job.known("genuine_offset"), job.known("genuine_offset", other)) == (110, 7)
    job.broker.refused.clear()
    job.poll(2)
    assert job.known("genuine_offset", other) == 8


# When a commit may have been made


def since_ms(job: Job, group_id: str = "g") -> int:
    return job.known("genuine_at_ms", GroupPartition(group_id, *ORDERS))


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
    job.broker.commit(80, "late")
    job.included = {"g", "unlisted"}
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
    after = Job(job.broker, job.tables, job.now_ms)
    after.poll(4)
    assert (since_ms(after, "late"), since_ms(after)) == (ABSENT, ABSENT), "it was excluded until now"
