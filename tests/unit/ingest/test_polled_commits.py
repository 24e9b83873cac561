"""Commits polled from coordinators: against what was done there, event by event; and repeated, restarted, overtaken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.polled_job import ORDERS, Broker, Job
from generators.hypothesis_strategies import law
from offset_sync.ingest.polled_commits import ALL_TYPES_S
from offset_sync.kafka.requests import TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, POLLED, GroupPartition
from offset_sync.tables.catalog import OFFSET_COMMITS


def test_a_poll_brings_what_is_new_with_the_times_of_both_polls() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.poll(0)
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


def test_a_commit_without_a_poll_before_may_have_been_made_at_any_time() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.poll(0)
    assert (job.known("genuine_at_ms"), job.known("genuine_made_ms")) == (ABSENT, 1_005_000)
    assert Job(job.broker, job.tables).known("genuine_at_ms") == ABSENT


def test_an_offset_that_is_gone_is_a_tombstone_once_and_one_that_is_back_a_commit() -> None:
    job = Job(Broker())
    for batch_id, offset in enumerate([100, None, None, 100]):
        job.broker.commit(offset)
        job.poll(batch_id)
    assert job.rows("committed_offset", "is_tombstone") == [(100, False), (None, True), (100, False)]
    assert (job.known("actual_offset"), job.known("is_deleted")) == (100, 0)


def test_a_group_that_is_no_longer_listed_is_still_asked_for() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.poll(0)
    del job.broker.offsets["g"]
    job.poll(1)
    assert job.known("is_deleted") == 1


def test_our_write_is_read_back_as_ours_and_a_repeated_poll_says_nothing() -> None:
    job = Job(Broker())
    job.broker.commit(50)
    job.poll(0)
    job.write(60)
    job.poll(1)
    job.poll(2)
    assert job.rows("committed_offset", "is_own") == [(50, False), (60, True)]
    assert (job.known("actual_offset"), job.known("genuine_offset")) == (60, 50)


def test_a_refresh_of_the_same_value_is_read_back_and_a_return_to_it_is_the_groups_own() -> None:
    job = Job(Broker())
    job.write(60)
    job.poll(0)
    job.write(60)
    job.poll(1)
    job.broker.commit(90)
    job.poll(2)
    job.broker.commit(60)
    job.poll(3)
    assert job.rows("committed_offset", "is_own") == [(60, True), (60, True), (90, False), (60, False)]
    assert job.known("rewound_ms") == job.now_ms


def test_a_group_that_goes_back_to_where_it_was_before_our_write_is_seen() -> None:
    job = Job(Broker())
    job.broker.commit(50)
    job.poll(0)
    job.write(60)
    job.broker.commit(50)
    job.poll(1)
    assert (job.known("actual_offset"), job.known("actual_is_own"), job.known("genuine_offset")) == (50, 0, 50)
    job.broker.commit(60)  # the write is over: this is not it
    job.poll(2)
    assert (job.known("genuine_offset"), job.known("actual_is_own")) == (60, 0)


events = st.one_of(
    st.tuples(st.just("group"), st.sampled_from([10, 20, 30])),
    st.tuples(st.just("ours"), st.sampled_from([10, 20, 30])),
    st.tuples(st.just("poll"), st.just(0)),
    st.tuples(st.just("restart"), st.just(0)),
)


@law(300)
@given(st.lists(events, max_size=14))
def test_after_each_poll_the_value_is_the_coordinators_and_its_author_is_no_ones_who_did_not_write_it(
    history: Sequence[tuple[str, int]],
) -> None:
    job, number, ours, last = Job(Broker()), 0, set[int](), ("nobody", -1)
    by_us = False  # whether the value at the last poll was ours
    changed = False
    for kind, value in history:
        if kind == "restart" and not ours:  # writes of a former driver are another matter
            job = Job(job.broker, job.tables, job.now_ms)
        elif kind == "ours":
            job.write(value)
            ours.add(value)
            last, changed = (kind, value), True
        elif kind == "group":
            job.broker.commit(value)
            last, changed = (kind, value), True
        elif kind == "poll":
            before = job.last
            job.poll(number)
            number += 1
            assert job.known("actual_offset") == last[1]
            job.last = last[1]
            is_own = bool(job.known("actual_is_own"))
            if changed and last[0] == "group" and last[1] not in ours and last[1] != before:
                assert not is_own, history
            if changed and last[0] == "ours":
                assert is_own, history
            if not changed and number > 1:
                assert is_own == by_us, history
            by_us, ours, changed = is_own, set(), False


def test_a_failed_micro_batch_is_repeated_with_its_commits() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.errors.append(RuntimeError("reconcile failed"))
    job.tables.dies_at = None
    with pytest.raises(RuntimeError, match="reconcile failed"):
        job.poll(0)
    job.broker.commit(200)
    job.poll(0)
    job.poll(1)
    assert job.rows("committed_offset", "log_offset") == [(100, 1_005_000), (200, 1_015_000)]


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


def test_what_another_driver_has_polled_is_taken_in_first() -> None:
    job = Job(Broker())
    job.ingester.note_taken_in(None)
    job.broker.commit(100)
    job.poll(0)
    other = Job(job.broker, job.tables, job.now_ms)
    other.broker.commit(200)
    other.poll(1)
    job.poll(2)
    assert job.rows("committed_offset") == [(100,), (200,)]
    assert job.known("genuine_offset") == 200


def test_all_commits_come_again_after_those_of_the_log_and_are_the_newer_ones() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.poll(0)
    rows = job.tables.versions["offset_commits"].pop()
    as_log = rows.to_pylist()
    for row in as_log:
        row |= {"log_partition": 3, "log_offset": 900, "captured_by": None, "not_before": None}
    job.tables.append(OFFSET_COMMITS, type(rows).from_pylist(as_log, rows.schema))
    after = Job(job.broker, job.tables, job.now_ms)
    after.poll(1)
    after.poll(2)
    assert after.rows("committed_offset", "log_partition") == [(100, 3), (100, POLLED)]
    assert Job(job.broker, job.tables).known("log_partition") == POLLED


def test_at_first_every_group_has_to_answer_and_later_the_others_go_on() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.broker.commit(7, "h")
    job.broker.refused["h"] = TransientError("X", "COORDINATOR_LOAD_IN_PROGRESS")
    with pytest.raises(TransientError):
        job.poll(0)
    del job.broker.refused["h"]
    job.poll(0)
    job.broker.refused["h"] = TransientError("X", "COORDINATOR_LOAD_IN_PROGRESS")
    job.broker.commit(110)
    job.broker.commit(8, "h")
    job.poll(1)
    assert job.known("genuine_offset") == 110
    assert job.known("genuine_offset", GroupPartition("h", *ORDERS)) == 7
    del job.broker.refused["h"]
    job.poll(2)
    assert job.known("genuine_offset", GroupPartition("h", *ORDERS)) == 8


def test_a_refused_group_is_named_once_and_holds_back_no_other(caplog: pytest.LogCaptureFixture) -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.broker.commit(7, "h")
    job.broker.refused["h"] = ClusterError("X", "group 'h': grant Describe")
    for number in range(3):
        job.poll(number)
    assert job.known("genuine_offset") == 100
    assert [each.message for each in caplog.records if "grant" in each.message] == [
        "clusters.X: not polled: group 'h': grant Describe"
    ]


def test_without_a_list_known_groups_go_on_but_not_at_first() -> None:
    job = Job(Broker())
    job.broker.is_listing = False
    with pytest.raises(ClusterError):
        job.poll(0)
    job.broker.is_listing = True
    job.broker.commit(100)
    job.poll(0)
    job.broker.is_listing = False
    job.broker.commit(110)
    job.poll(1)
    assert job.known("genuine_offset") == 110


def test_groups_of_other_types_are_looked_for_each_minute() -> None:
    job = Job(Broker())
    job.broker.commit(100)
    job.broker.unlisted.add("g")
    for number in range(3):
        job.poll(number)
        job.seconds += ALL_TYPES_S / 2
    assert (job.broker.looks, job.known("genuine_offset")) == (2, 100)


def test_excluded_groups_are_not_polled() -> None:
    job = Job(Broker())
    job.broker.commit(100, "console-consumer-1")
    job.poll(0)
    assert job.rows("group_id") == []


def test_the_number_of_a_poll_grows_although_the_clock_goes_back() -> None:
    job = Job(Broker())
    for number, offset in enumerate([100, 110, 120]):
        job.broker.commit(offset)
        job.poll(number, after_ms=-60_000)
    job = Job(job.broker, job.tables, job.now_ms - 3_600_000)
    job.broker.commit(130)
    job.poll(3)
    assert job.rows("committed_offset") == [(100,), (110,), (120,), (130,)]
    assert job.known("genuine_offset") == 130


def test_nothing_is_written_while_coordinators_are_asked_and_their_answers_compared() -> None:
    job, seen = Job(Broker()), list[bool]()
    job.broker.commit(10)
    job.broker.takes = lambda: seen.append(job.writing.locked())
    job.poll(0)
    assert (seen, job.writing.locked()) == ([True], False)
