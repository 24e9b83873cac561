"""What a micro-batch has read of a leader that loses it before the clusters are asked."""

from __future__ import annotations

from fakes.clusters import MemoryEnds
from fakes.indexing import ORDERS, Job, Plan, mirrored
from offset_sync.tables.catalog import LOG_INCARNATIONS


def elected_job() -> Job:
    """Return a job that has indexed ten records; then another leader has them all, and two that are its own."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 10}, {ORDERS: 12}, {ORDERS: 13}]))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 10, leader_epoch=1)}}
    job.index(0, *((ORDERS, offset, None) for offset in range(10)))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 13, leader_epoch=2)}}
    job.epoch_ends = {ORDERS: 10}
    job.read_again = [(ORDERS, offset, mirrored(offset + 100)) for offset in range(10, 13)]
    return job


def test_records_that_a_leader_lost_after_they_were_read_are_not_those_of_the_next_one() -> None:
    """Nothing that was indexed is lost, so no life begins; what stands in this micro-batch is another matter."""
    job = elected_job()
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert [run[2:] for run in job.runs() if run[2] >= 10 and run[3]] == [(10, 2, "X", 110)]
    assert not job.tables.rows(LOG_INCARNATIONS, "reason").count(("READ_AGAIN",))


def test_after_a_restart_the_leader_that_was_written_down_is_compared_with() -> None:
    job = elected_job()
    job.restart()
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert [run[2:] for run in job.runs() if run[2] >= 10 and run[3]] == [(10, 2, "X", 110)]


def test_what_was_read_under_the_new_leader_is_read_once() -> None:
    job = elected_job()
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    job.read_again = []
    job.index(2, (ORDERS, 12, mirrored(112)))
    assert (12, 1, "X", 112) in [run[2:] for run in job.runs()]


def test_what_stands_below_the_end_of_the_old_leader_is_read_once() -> None:
    job = elected_job()
    job.epoch_ends, job.read_again = {ORDERS: 12}, []
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert (10, 2, "Y", 10) in [run[2:] for run in job.runs()]
