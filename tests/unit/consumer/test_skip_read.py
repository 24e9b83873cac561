"""The interceptor, poll by poll: what it takes out, when it asks, that failures deliver, and its marks."""

from __future__ import annotations

import itertools

import pytest

from consumer.read_list_texts import list_text
from consumer.skip_read_cases import ALL, PLACE, RANGES, START, SkipReadCases

pytestmark = pytest.mark.xdist_group("consumer")


def test_a_record_with_a_greater_epoch_or_none_is_delivered(listed: SkipReadCases) -> None:
    records = [[102, 2], [103, None], [106, 3], [107, 4], [108, 4], [109, 5]]
    assert listed.poll_all({PLACE: records}) == {PLACE: [103, 107, 108, 109]}


@pytest.mark.parametrize(
    "commit",
    [
        [101, list_text(START, 3, RANGES)],
        [START, list_text(START, 3, RANGES).replace("/1", "/2")],
        [START, list_text(START, 3, RANGES) + " until=3"],
        [START, ""],
        None,
    ],
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


@pytest.mark.parametrize("failure", ["timeout", "error", "interrupted", "use refused"])
def test_without_an_answer_all_records_are_delivered_and_a_later_poll_asks_again(
    listed: SkipReadCases, failure: str
) -> None:
    listed.set(failure=failure)
    assert listed.poll(102, 103) == [102, 103]
    assert listed.is_interrupted == (failure == "interrupted")
    listed.set(failure="")
    listed.later(10_000)
    assert listed.poll(104, 106) == [104]


def test_an_error_while_records_are_judged_delivers_them(listed: SkipReadCases) -> None:
    for _ in range(2):
        assert listed.poll(*ALL, breaks=True) == ALL
    assert listed.metrics["failed-total"] == 2
    assert len(listed.logged()) == 1, "one line for a series of failures"
    assert listed.poll(100, 102) == [100]


def test_pauses_double_from_a_tenth_of_a_second_to_ten_seconds_until_an_answer_comes(listed: SkipReadCases) -> None:
    listed.set(failure="timeout")
    asked = []
    for passed in range(0, 45_000, 50):
        before = len(listed.waits)
        assert listed.poll(100) == [100]
        if len(listed.waits) > before:
            asked.append(passed)
        listed.later(50)
    pauses = [after - before for before, after in itertools.pairwise(asked)]
    assert pauses == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]


def text(skipped: int = 0, start: object = "-", client: str = "app-1") -> str:
    return f"offset-sync/1 VERSION skipped={skipped} list={start} by {client}"


def test_the_first_records_of_a_partition_one_poll_a_minute_and_the_end_are_marked(listed: SkipReadCases) -> None:
    listed.poll(100, 101, 102)
    assert listed.marks == [{PLACE: (103, text(1, START))}]
    listed.later(59_000)
    listed.poll(103, 104)
    assert len(listed.marks) == 1
    listed.poll(5, place="orders-1")
    assert listed.marks[1:] == [{PLACE: (105, text(2, START)), "orders-1": (6, text())}]
    listed.later(60_000)
    listed.poll(109, 110)
    assert listed.marks[2:] == [{PLACE: (111, text(3, START))}]
    listed.close()
    assert len(listed.marks) == 3, "nothing was read since"
