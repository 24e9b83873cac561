"""Logs that have other records than before, and leaders that lost what was read: noticed, written down, read again."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS, SECOND, TOPICS, Job, Plan, mirrored
from offset_sync.ingest.incarnation_check import OvertakenError
from offset_sync.model.errors import ClusterError, OtherClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, OffsetRange, ReportedEnd, TopicPartition
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS


def lives(job: Job) -> list[tuple[Any, ...]]:
    """Return what was written down, in order: cluster, leader epoch, from where on, and why."""
    rows = job.tables.rows(LOG_INCARNATIONS, "noticed_at", "cluster", "leader_epoch", "begins_at", "reason")
    return [row[1:] for row in sorted(rows, key=lambda row: row[0])]


def cut_job(at: int = 6, log_end: int = 12) -> Job:
    """Return a job that has indexed ten records, when another leader has those below *at*, and others up to the end."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 10}, {ORDERS: 12}, {ORDERS: 13}, {ORDERS: 15}]))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 10, leader_epoch=1)}}
    job.index(0, *((ORDERS, offset, None) for offset in range(10)))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, log_end, leader_epoch=2)}}
    job.epoch_ends = {ORDERS: at}
    job.read_again = [(ORDERS, offset, mirrored(offset + 100)) for offset in range(at, 13)]
    return job


def test_what_a_driver_that_woke_has_indexed_under_the_new_leader_is_no_cut() -> None:
    """It has written the leader down, and indexed what came after; we knew the leader before, and read how far."""
    job = cut_job()
    job.epoch_ends = {ORDERS: 10}
    woken, reaches = cut_job(), job.reaches
    woken.tables, woken.epoch_ends = job.tables, job.epoch_ends
    woken.restart()

    def reaches_meanwhile() -> dict[Any, int]:
        woken.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
        return reaches()

    job.reaches = reaches_meanwhile  # type: ignore[method-assign]
    job.restart()
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert {life[3] for life in lives(job)} == {None, "ELECTED"}
    assert {life[1] for life in lives(job)} == {1, 2}


def test_an_incarnation_that_begins_while_the_one_before_is_read_again_is_read_too() -> None:
    """Another query has noticed it, with a copy of it, before this one has stored what it read."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 10}, {ORDERS: 20}]))
    job.index(0, *((ORDERS, offset, None) for offset in range(10)))
    job.topics = {"orders": MemoryTopic("orders-2", 2)}
    job.read_again = [(ORDERS, offset, mirrored(offset + 100)) for offset in range(20)]
    was_read_again = job.incarnations.was_read_again

    def after_another(*read: Any) -> None:
        job.topics = {"orders": MemoryTopic("orders-3", 2)}
        noticed_by_another_query(job)
        was_read_again(*read)

    job.incarnations.was_read_again = after_another  # type: ignore[method-assign]
    job.index(1)
    assert job.incarnations.to_read_again("Y") == {ORDERS: 0}


def test_what_a_cluster_said_before_another_query_noticed_more_is_asked_again() -> None:
    job = cut_job()
    asked, others = job.fetch_each, job.logs

    def overtaken(wanted: dict[str, Any]) -> Any:
        job.fetch_each = asked  # type: ignore[method-assign]
        stale, job.logs = {"Y": {ORDERS: MemoryEnds(0, 10, leader_epoch=1)}}, others
        noticed_by_another_query(job)
        job.logs = stale
        found = asked(wanted)
        job.logs = others
        return found

    job.fetch_each = overtaken  # type: ignore[method-assign]
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert [life[1:] for life in lives(job)] == [
        *((1, None, None), (2, 6, "LOG_TRUNCATED")),
        *((2, 6, "READ_AGAIN"), (2, None, "READ_AGAIN")),
    ]


def test_a_log_that_ends_below_its_copies_when_it_is_first_met_was_truncated() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 2}]), topics_of_x={})
    job.index(0, (ORDERS, 0, mirrored(100)))
    job.topics_of_x, job.ends_at_x = dict(TOPICS), 50
    job.restart()
    job.index(1, (ORDERS, 1, mirrored(10)))
    assert ("X", None, 0, "LOG_TRUNCATED") in lives(job)


def noticed_by_another_query(job: Job) -> None:
    said, moment = job.fetch_each({"Y": {TopicPartition(*ORDERS)}}), job.incarnations.moment()
    job.incarnations.note(said, {}, moment)


def test_what_was_verified_before_another_query_noticed_an_incarnation_is_not_entered() -> None:
    """The index is cut by then: nobody would remove it. The micro-batch is read once more."""
    job = cut_job()
    now, job.logs = job.logs, {"Y": {ORDERS: MemoryEnds(0, 12, leader_epoch=1)}}
    append = job.tables.append

    def overtaken(table: Any, *rows: Any) -> None:
        if table is RECORD_RUNS:
            job.tables.append, job.logs = append, now  # type: ignore[method-assign]
            noticed_by_another_query(job)
        append(table, *rows)

    job.tables.append = overtaken  # type: ignore[method-assign]
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert records(job) == [(0, 6, "Y", 0), (6, 6, "X", 106)]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_cut_that_was_not_made_is_made_before_anything_else(is_restarted: bool) -> None:
    job = cut_job()
    cut, job.incarnations._cut_index = job.incarnations._cut_index, nothing_can_be_written
    with pytest.raises(OSError, match="no room"):
        job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert records(job) == [(0, 10, "Y", 0)]
    job.incarnations._cut_index = cut
    if is_restarted:
        job.restart()
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert records(job) == [(0, 6, "Y", 0), (6, 6, "X", 106)]
    assert [life[3] for life in lives(job)] == [None, "LOG_TRUNCATED", "READ_AGAIN", "READ_AGAIN"]


def test_a_copy_that_came_back_to_a_log_that_was_cut_may_be_of_a_record_that_it_has_lost() -> None:
    job = cut_job(log_end=15)
    job.index(1)
    job.index(3, (ORDERS, 13, (b"Y", b"8")), (ORDERS, 14, (b"Y", b"5")))
    assert records(job, 13) == [(13, 1, "", 13), (14, 1, "Y", 5)]


def nothing_can_be_written(_cuts: object) -> dict[ClusterPartition, int]:
    raise OSError("no room")


def records(job: Job, first: int = 0) -> list[tuple[Any, ...]]:
    """Return what is indexed of records from *first* on: start, length, origin and start there."""
    return [run[2:] for run in job.runs() if run[2] >= first and run[3]]


# Leaders that have lost what was read


@pytest.mark.parametrize("is_restarted", [False, True])
def test_records_that_a_leader_lost_after_they_were_read_are_not_those_of_the_next_one(is_restarted: bool) -> None:
    """Nothing that was indexed is lost, so no incarnation begins; records of this micro-batch are another matter."""
    job = cut_job(10, 13)
    if is_restarted:  # the leader that was written down is compared with
        job.restart()
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert records(job, 10) == [(10, 2, "X", 110)]
    assert not job.tables.rows(LOG_INCARNATIONS, "reason").count(("READ_AGAIN",))
    job.read_again = []  # what was read under the new leader is read once
    job.index(2, (ORDERS, 12, mirrored(112)))
    assert records(job, 12) == [(12, 1, "X", 112)]


# Leaders that are silent, and clusters that are another


def test_what_was_read_of_a_log_whose_leader_is_silent_since_is_not_written_down() -> None:
    """It may be of another incarnation: the micro-batch comes again. A log of which nothing was read may be silent."""
    job = Job(Plan({ORDERS: 0, SECOND: 0}, [{ORDERS: 2, SECOND: 0}, {ORDERS: 3, SECOND: 2}]), without_ends={SECOND})
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None))
    later = ((ORDERS, 2, None), (SECOND, 0, None), (SECOND, 1, None))
    with pytest.raises(ClusterError, match="no answer about orders-1, which was read"):
        job.index(1, *later)
    assert records(job) == [(0, 2, "Y", 0)]
    job.without_ends.clear()
    job.index(1, *later)
    assert records(job) == [(0, 2, "Y", 0), (2, 1, "Y", 2), (0, 2, "Y", 0)]


def test_what_new_clients_would_read_elsewhere_is_not_written_down() -> None:
    """Spark's do not compare the id of the cluster with their answers."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}]))
    logs = job.indexer._checks.logs

    def led_elsewhere() -> None:
        raise OtherClusterError("Y", "its id is id-2 and was id-1")

    logs._asked = logs._asked._replace(verify=led_elsewhere)
    with pytest.raises(OtherClusterError):
        job.index(0, (ORDERS, 0, None))
    assert job.runs() == []


# Queries of one driver that ask about the same logs at the same time


def test_two_queries_that_ask_about_a_new_leader_at_once_find_no_cut() -> None:
    """The one that is answered last knows by then how far the log reaches under the new leader."""
    job = cut_job(10, 15)
    place, plans = {"Y": [TopicPartition(*ORDERS)]}, {ClusterPartition("Y", *ORDERS): OffsetRange(10, 10)}
    check, ends = job.incarnations, job.ends

    def answered_late(epochs: dict[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        job.ends = ends  # type: ignore[method-assign]
        check.note(job.fetch_each(place), plans, check.moment())  # type: ignore[arg-type]
        return ends(epochs)

    job.ends = answered_late  # type: ignore[method-assign]
    with pytest.raises(OvertakenError):
        check.note(job.fetch_each(place), plans, check.moment())  # type: ignore[arg-type]
    assert {life[3] for life in lives(job)} == {None, "ELECTED"}
