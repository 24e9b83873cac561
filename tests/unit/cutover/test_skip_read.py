"""Moves by read lists, among clusters that say what the test wants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fakes.moves import CROSSING, GOOD, ORDERS, FakeClusters, Move
from offset_sync.cutover.crossed import UNKNOWN, CrossedPartition
from offset_sync.cutover.plan import Mode, Options, Step
from offset_sync.model.reasons import Reason
from offset_sync.model.values import GroupPartition
from offset_sync.status.assessment import Verdict

KEY = GroupPartition("g", *ORDERS)
LISTED = CrossedPartition(KEY, 5, 2, 0, seen=5, is_held=True)
BEFORE = replace(LISTED, is_held=False)
SKIPPING = Options(has_read_lists=True)


def moving(*lists: list[CrossedPartition], options: Options = SKIPPING, **how: Any) -> Move:
    return Move(FakeClusters([[CROSSING]], lists=list(lists), **how), options=options)


def reasons(crossed: CrossedPartition, options: Options = SKIPPING) -> list[str]:
    (plan,) = moving([crossed], options=options).cutover.plan(["g"], Mode.PLANNED)
    return [*map(str, plan.blocking)]


def test_what_crosses_is_no_cost_where_it_is_on_the_list() -> None:
    move = moving([BEFORE])
    (plan,) = move.cutover.plan(["g"], Mode.PLANNED)
    assert (plan.duplicates, plan.skipped, plan.verdict, plan.blocking) == (0, 2, Verdict.NOW, [])
    (plan,) = moving([replace(BEFORE, repeated=1)]).cutover.plan(["g"], Mode.PLANNED)
    assert (plan.duplicates, plan.verdict) == (1, Verdict.BLOCKED)
    (plan,) = moving([BEFORE], options=Options()).cutover.plan(["g"], Mode.PLANNED)
    assert (plan.duplicates, plan.skipped, plan.verdict) == (2, None, Verdict.AT_COST)


@pytest.mark.parametrize(
    ("crossed", "words", "allowed"),
    [
        (replace(BEFORE, until=9), "its consumers still skip up to 9 at X", None),
        (replace(BEFORE, repeated=7), Reason.NOT_ON_LIST(7), Options(["NOT_ON_LIST"], has_read_lists=True)),
        (replace(BEFORE, seen=4), Reason.NO_MARK(4, 5), Options(["NO_MARK"], has_read_lists=True)),
        (replace(BEFORE, seen=None), Reason.NO_MARK(None, 5), Options(["NO_MARK"], has_read_lists=True)),
    ],
)
def test_each_reason_not_to_move_by_lists_is_named(
    crossed: CrossedPartition, words: str, allowed: Options | None
) -> None:
    (reason,) = reasons(crossed)
    assert reason.startswith("g orders-0: ")
    assert words in reason
    if allowed is not None:
        assert reasons(crossed, allowed) == []
    move = moving([crossed])
    (failure,) = move.apply()
    assert (words in failure, move.clusters.committed) == (True, [])


def test_a_group_stays_while_its_source_does_not_say_whether_it_still_skips() -> None:
    (reason,) = reasons(replace(BEFORE, until=UNKNOWN))
    assert "X did not answer, so its consumers may still skip there" in reason


@pytest.mark.parametrize(("until", "words"), [(9, "start them there"), (UNKNOWN, "repeat the command")])
def test_a_group_that_still_skips_at_its_source_is_not_moved_without_lists_either(until: int, words: str) -> None:
    still = replace(BEFORE, until=until)
    move = Move(FakeClusters(lists=[[still]]))
    (plan,) = move.cutover.plan(["g"], Mode.PLANNED)
    (failure,) = move.apply()
    assert (len(plan.blocking), plan.skipped, words in failure) == (1, None, True)
    assert (move.clusters.committed, Step.HOME in [step.step for step in move.steps]) == ([], False)
    assert Move(FakeClusters(lists=[[still]])).apply(mode=Mode.DISASTER) == []


def test_a_group_that_gets_no_lists_does_not_move_by_them() -> None:
    (failure,) = moving([]).apply()
    assert Reason.GETS_NO_LISTS() in failure
    contested = replace(CROSSING, contest="committed at X and at Y")
    (failure,) = Move(FakeClusters([[contested]], lists=[[BEFORE]]), options=SKIPPING).apply()
    assert failure == f"g: {Reason.AT_TWO_CLUSTERS()}"


def test_it_waits_until_all_that_is_read_is_at_the_target() -> None:
    missing = replace(BEFORE, missing=3)
    move = moving([BEFORE], [missing], [missing], [BEFORE], [BEFORE], [LISTED])
    assert move.apply() == []
    left = "records of orders-0 that g has read and that are not at Y: 3"
    never = moving([BEFORE], [missing])
    (failure,) = never.apply(timeout=4.0)
    assert f"not read within 4 s: {left}" in failure
    assert never.clusters.committed == []


def test_a_group_in_sync_at_another_offset_than_its_list_is_for_is_not_ready() -> None:
    site = FakeClusters([[replace(GOOD, target_offset=6)]], lists=[[LISTED]])
    assert Move(site, options=SKIPPING).verify() == [f"g orders-0: InSync; {Reason.IF_IN_SYNC()}"]


def test_a_group_whose_list_is_not_at_the_target_is_not_moved() -> None:
    move = moving([BEFORE])
    failures = move.apply()
    assert failures
    assert all("orders-0: Y does not hold its present read list; repeat apply" in each for each in failures)
    assert Step.HOME not in [step.step for step in move.steps]


@pytest.mark.parametrize("until", [None, 9])
def test_a_group_that_has_gone_on_at_the_target_is_ready_once_it_is_past_its_list(until: int | None) -> None:
    move = Move(FakeClusters([[]], lists=[[]], listed={KEY: until}), options=SKIPPING)
    assert move.verify() == ([f"g orders-0: {Reason.STILL_SKIPS(9, 'Y')}"] if until else [])
    assert move.written() == [("verify", "failed" if until else "done")]
    assert Move(FakeClusters([[]], lists=[[]]), options=SKIPPING).verify() == [f"g: {Reason.NOTHING_TO_VERIFY('X')}"]
