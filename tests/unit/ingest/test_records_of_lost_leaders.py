"""What a micro-batch has read of a leader that loses it before the clusters are asked."""

from __future__ import annotations

from typing import Any

from fakes.clusters import MemoryEnds
from fakes.indexing import ORDERS, Job, Plan, mirrored
from offset_sync.ingest.checkpoint import Offsets
from offset_sync.ingest.log_check import LogCheck
from offset_sync.model.values import TopicPartition
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import LOG_INCARNATIONS, TRUNCATED


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
    """Nothing that was indexed is lost, so no incarnation begins; records of this micro-batch are another matter."""
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


def test_records_below_the_end_of_the_old_leader_are_read_once() -> None:
    job = elected_job()
    job.epoch_ends, job.read_again = {ORDERS: 12}, []
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert (10, 2, "Y", 10) in [run[2:] for run in job.runs()]


def test_who_leads_a_log_is_known_before_it_is_read_for_the_first_time() -> None:
    """Asked after reading alone, the leader that has lost what was read would be the first one that is known."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 2}, {ORDERS: 3}]))
    leaders = iter([MemoryEnds(0, 2, leader_epoch=1), *[MemoryEnds(0, 3, leader_epoch=2)] * 3])
    job.asked = lambda: job.logs.update(Y={ORDERS: next(leaders)})
    job.epoch_ends, job.read_again = {ORDERS: 0}, [(ORDERS, 0, mirrored(100)), (ORDERS, 1, mirrored(101))]
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None))
    assert [run[2:] for run in job.runs() if run[3]] == [(0, 2, "X", 100)]
    job.index(1, (ORDERS, 2, mirrored(102)))
    assert [run[2:] for run in job.runs() if run[3]] == [(0, 2, "X", 100), (2, 1, "X", 102)]


def test_a_log_that_is_known_is_not_asked_about_before_it_is_read() -> None:
    job, times = elected_job(), list[None]()
    job.asked = lambda: times.append(None)
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert len(times) == 1


def test_another_query_that_hears_of_the_new_leader_first_does_not_hide_that_it_is_new() -> None:
    """It asks for its copies between this one's reading and its asking."""
    job = elected_job()
    before_reading = LogCheck.before_reading

    job.restart()
    logs = job.indexer._checks.logs

    def also_heard_by_another(start: Offsets, end: Offsets) -> None:
        before_reading(logs, start, end)
        said = {"Y": job.fetch_each({"Y": [TopicPartition(*ORDERS)]})["Y"]}
        job.incarnations.note(said, {}, job.incarnations.moment())

    logs.before_reading = also_heard_by_another  # type: ignore[method-assign]
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert [run[2:] for run in job.runs() if run[2] >= 10 and run[3]] == [(10, 2, "X", 110)]


def test_copies_that_a_leader_lost_between_a_crash_and_the_repetition_are_read_again() -> None:
    """They are in the table, and the repetition is not written: only how far the log is indexed tells of them."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 10}, {ORDERS: 12}, {ORDERS: 12}]))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 12, leader_epoch=1)}}
    job.index(0, *((ORDERS, offset, None) for offset in range(10)))
    job.index(1, (ORDERS, 10, mirrored(110)), (ORDERS, 11, mirrored(111)))
    job.restart()
    job.logs, job.epoch_ends = {"Y": {ORDERS: MemoryEnds(0, 12, leader_epoch=2)}}, {ORDERS: 11}
    job.read_again = [(ORDERS, 10, mirrored(110)), (ORDERS, 11, mirrored(150))]
    job.index(1, (ORDERS, 10, mirrored(110)), (ORDERS, 11, mirrored(150)))
    lives = job.tables.rows(LOG_INCARNATIONS, "begins_at", "reason")
    assert (11, TRUNCATED) in lives
    assert [run[2:] for run in job.runs() if run[4] == "X" and run[5] + run[3] > 150] == [(11, 1, "X", 150)]


def test_records_of_the_next_leader_at_the_offsets_of_lost_ones_are_read_with_the_next_micro_batch() -> None:
    """The query goes on behind the lost records, where the new log has grown beyond that; groups may have read them."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 10}, {ORDERS: 15}, {ORDERS: 18}]))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 10, leader_epoch=1)}}
    job.index(0, *((ORDERS, offset, None) for offset in range(10)))
    job.logs, job.epoch_ends = {"Y": {ORDERS: MemoryEnds(0, 12, leader_epoch=2)}}, {ORDERS: 10}
    job.read_again = [(ORDERS, 10, None), (ORDERS, 11, None)]
    job.index(1, *((ORDERS, offset, mirrored(offset)) for offset in range(10, 15)))
    assert highest(job) == 12
    assert (10, TRUNCATED) in job.tables.rows(LOG_INCARNATIONS, "begins_at", "reason")
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 18, leader_epoch=2)}}
    job.read_again = [(ORDERS, offset, None) for offset in range(10, 18)]
    job.index(2, *((ORDERS, offset, None) for offset in range(15, 18)))
    tables: Any = job.tables
    index = RecordIndex(tables)
    index.refresh()
    log = index.log("Y", *ORDERS)
    assert log is not None
    assert [each.tolist() for each in log.unknown_ranges] == [[], []]
    assert (log.is_contradicted, log.run_count, log.frontier) == (False, 1, 18)


def highest(job: Job) -> int:
    return max(start + length for _, _, start, length, *_ in job.runs())
