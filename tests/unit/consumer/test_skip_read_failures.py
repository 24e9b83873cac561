"""Whatever fails in the interceptor delivers, and it asks again after a pause."""

from __future__ import annotations

import itertools

import pytest

from consumer.skip_read_cases import ALL, PLACE, SkipReadCases

pytestmark = pytest.mark.xdist_group("consumer")


FAILURES = ["timeout", "exception", "error", "refused", "interrupted", "use timeout", "use refused", "use error"]


@pytest.mark.parametrize("failure", FAILURES)
def test_without_an_answer_all_records_are_delivered_and_a_later_poll_asks_again(
    listed: SkipReadCases, failure: str
) -> None:
    listed.set(failure=failure)
    poll = listed.poll_all({PLACE: [[102, 3], [103, 3]]}, {PLACE: 104})
    assert poll.delivered == {PLACE: [102, 103]}
    assert poll.is_same
    assert poll.is_interrupted == (failure == "interrupted")
    listed.later(10_000)
    assert listed.poll(104, 106) == [104, 106]
    (line,) = [each for each in listed.logged() if "cannot read its lists" in each]
    assert "SkipRead of group billing cannot read its lists, so records are delivered without them: " in line
    assert listed.waits == [10_000, 1_000], "one line for a series of failures"
    assert listed.metrics == {"skipped-total": 0, "lists": 0, "asked-total": 2, "failed-total": 2}
    listed.set(failure="")
    listed.later(10_000)
    assert listed.poll(107, 110) == [110]
    assert listed.poll(111) == [111]
    assert listed.waits == [10_000, 1_000, 1_000]


@pytest.mark.parametrize("failure", FAILURES)
def test_pauses_double_from_a_tenth_of_a_second_to_ten_seconds_until_an_answer_comes(
    listed: SkipReadCases, failure: str
) -> None:
    listed.set(failure=failure)
    asked = []
    for passed in range(0, 45_000, 50):
        before = len(listed.waits)
        assert listed.poll(100) == [100]
        if len(listed.waits) > before:
            asked.append(passed)
        listed.later(50)
    pauses = [after - before for before, after in itertools.pairwise(asked)]
    assert pauses == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]


def test_an_error_while_records_are_judged_delivers_them(listed: SkipReadCases) -> None:
    assert listed.poll(*ALL, breaks=True) == ALL
    assert listed.poll(*ALL, breaks=True) == ALL
    assert listed.metrics["failed-total"] == 2
    assert len(listed.logged()) == 1, "one line for a series of failures"
    assert listed.poll(100, 102) == [100]
    assert listed.poll(*ALL, breaks=True) == ALL
    assert len([each for each in listed.logged() if " WARN " in each]) == 2


@pytest.mark.parametrize(
    ("settings", "wait"),
    [
        ({"offset_sync_wait_ms": "1"}, 1),
        ({"offset_sync_wait_ms": "250"}, 250),
        ({"max_poll_interval_ms": "5000"}, 2500),
        ({"offset_sync_wait_ms": "soon"}, 10_000),
        ({"offset_sync_wait_ms": "-4"}, 10_000),
    ],
)
def test_the_wait_is_an_option_and_at_most_half_of_what_polls_may_take(
    cases: SkipReadCases, settings: dict[str, str], wait: int
) -> None:
    cases.open(**settings)
    cases.set(failure="timeout")
    cases.poll(100)
    cases.later(10_000)
    cases.poll(101)
    assert cases.waits == [wait, min(wait, 1_000)]
