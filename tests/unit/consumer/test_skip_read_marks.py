"""Marks: the commits by which the interceptor shows that it is there; nothing depends on them."""

from __future__ import annotations

import pytest

from consumer.skip_read_cases import PLACE, START, SkipReadCases

pytestmark = pytest.mark.xdist_group("consumer")


def text(skipped: int = 0, start: object = "-", client: str = "app-1") -> str:
    # The driver's classes are of the same package, and of no jar that would say its version.
    return f"offset-sync/1 unknown skipped={skipped} list={start} by {client}"


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


@pytest.mark.parametrize(("stands", "is_marked"), [(101, True), (102, False), (140, False)])
def test_at_the_end_no_mark_goes_back_behind_that_of_another_member(
    listed: SkipReadCases, stands: int, is_marked: bool
) -> None:
    listed.poll(100)
    listed.poll(101)
    listed.set(seen={PLACE: [stands, text(client="app-2")]})
    listed.close()
    assert listed.marks[1:] == [{PLACE: (102, text(0, START))}] * is_marked


def test_without_the_right_there_are_none_and_records_are_skipped(listed: SkipReadCases) -> None:
    listed.set(failure="marks refused")
    assert listed.poll(100, 102) == [100]
    listed.later(61_000)
    assert listed.poll(101, 103) == [101]
    listed.later(61_000)
    assert listed.poll(105, 106) == [105]
    listed.close()
    assert len(listed.marks) == 1
    (line,) = [each for each in listed.logged() if " WARN " in each]
    assert "Group billing skips without marks: its principal needs Read on group __offset-sync.seen.billing " in line
    assert listed.metrics == {}


@pytest.mark.parametrize("failure", ["marks throw", "marks fail"])
def test_marks_that_fail_are_tried_again_in_a_minute_by_another_client(listed: SkipReadCases, failure: str) -> None:
    listed.set(failure=failure)
    listed.poll(100, 101)
    listed.poll(104)
    assert not listed.is_open
    assert len([each for each in listed.logged() if "Marks of group billing cannot be written" in each]) == 1
    listed.set(failure="")
    written = len(listed.marks)
    listed.later(59_999)
    listed.poll(105)
    assert len(listed.marks) == written
    listed.later(1)
    listed.poll(110)
    assert listed.marks[written:] == [{PLACE: (111, text(0, START))}]
