"""The interceptor's rules, poll by poll: what it takes out, and when it asks."""

from __future__ import annotations

import pytest

from consumer.read_list_texts import list_text
from consumer.skip_read_cases import ALL, PLACE, RANGES, START, UNREAD, SkipReadCases

pytestmark = pytest.mark.xdist_group("consumer")


def test_records_on_the_list_are_taken_out_and_counted(listed: SkipReadCases) -> None:
    assert listed.poll(*ALL) == UNREAD
    assert listed.metrics == {"skipped-total": 6, "lists": 0, "asked-total": 1, "failed-total": 0}
    (line,) = listed.logged()
    assert line.endswith("orders-0 of group billing has passed its read list from 100: 6 records skipped")


def test_a_record_with_a_greater_epoch_or_none_is_delivered(listed: SkipReadCases) -> None:
    records = [[102, 2], [103, None], [106, 3], [107, 4], [108, 4], [109, 5]]
    assert listed.poll_all({PLACE: records}).delivered == {PLACE: [103, 107, 108, 109]}


def test_a_group_whose_own_commit_is_not_known_to_the_broker_gets_everything(cases: SkipReadCases) -> None:
    cases.open()
    cases.set(lists={PLACE: [START, list_text(START, 3, RANGES)]})
    assert cases.poll(*ALL) == ALL


@pytest.mark.parametrize(
    "commit",
    [
        [101, list_text(START, 3, RANGES)],
        [START, list_text(START, 3, RANGES).replace("/1", "/2")],
        [START, list_text(START, 3, RANGES) + " until=3"],
        [START, ""],
        None,
    ],
    ids=["of another offset", "of another version", "with an unknown word", "without a text", "none"],
)
def test_what_is_no_list_to_the_letter_takes_nothing_out(cases: SkipReadCases, commit: list[object] | None) -> None:
    cases.open()
    cases.set(lists={PLACE: commit}, own={PLACE: START})
    assert cases.poll(*ALL) == ALL
    assert cases.metrics["lists"] == 0


def test_a_list_is_dropped_at_its_end_and_what_comes_back_is_judged_as_before(listed: SkipReadCases) -> None:
    assert listed.poll(100, 101, 102, 103) == [100, 101]
    assert listed.metrics["lists"] == 1
    assert listed.poll(106, 107, 108) == []
    assert listed.metrics["lists"] == 1
    assert listed.poll(109) == []
    assert listed.metrics == {"skipped-total": 6, "lists": 0, "asked-total": 1, "failed-total": 0}
    assert listed.poll(110, 111) == [110, 111]
    assert len(listed.waits) == 1
    assert listed.poll(105, 106, 107) == [105], "the application seeks back to retry"
    assert len(listed.waits) == 2


def test_it_asks_again_after_ten_seconds_of_use_and_after_a_minute_without_records(listed: SkipReadCases) -> None:
    listed.poll(100)
    listed.later(10_000)
    listed.poll(101)
    assert len(listed.waits) == 1
    listed.later(1)
    listed.set(lists={PLACE: None})
    assert listed.poll(102, 103) == [102, 103], "it was taken away"
    assert len(listed.waits) == 2
    listed.later(60_000)
    listed.poll(104)
    assert len(listed.waits) == 2
    listed.give(START, RANGES, own=START)
    listed.later(60_001)
    assert listed.poll(105, 106) == [105], "a minute later the partition may have been elsewhere"
    assert len(listed.waits) == 3


def test_partitions_are_asked_for_together_and_judged_each_by_its_own_list(listed: SkipReadCases) -> None:
    listed.give(7, [(8, 9)], own=7, place="orders-1")
    records = {PLACE: [[101, 3], [102, 3]], "orders-1": [[7, 3], [8, 3], [102, 3]]}
    assert listed.poll_all(records).delivered == {PLACE: [101], "orders-1": [7, 102]}
    assert len(listed.waits) == 1


def test_without_marks_the_client_is_closed_once_no_partition_has_a_list(cases: SkipReadCases) -> None:
    cases.open(offset_sync_marks="false")
    cases.give(START, RANGES, own=START)
    cases.poll(100)
    assert cases.is_open
    cases.poll(110)
    assert not cases.is_open
    cases.close()
    assert cases.marks == []
