"""What may be overwritten at the target: every row of "Whose commit counts", without I/O."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offset_sync.kafka.partition_answer import Committed
from offset_sync.model.values import OffsetWrite, Outcome, Rule
from offset_sync.state.committed_offsets import OWN_TAG
from offset_sync.sync.offset_writer import decide

OURS = OWN_TAG
RULES = list(Rule)


def write(offset: int, rule: Rule = Rule.FORWARD, expected: int | None = 40, refresh: bool = False) -> OffsetWrite:
    return OffsetWrite("group", "orders", 0, offset, OURS, rule, expected, refresh)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("expected", [None, 40])
def test_where_nothing_stands_the_offset_is_written_under_every_rule(rule: Rule, expected: int | None) -> None:
    assert decide(write(10, rule, expected), None) is None


@pytest.mark.parametrize("rule", RULES)
def test_the_same_offset_is_left_as_it_is(rule: Rule) -> None:
    assert decide(write(40, rule), Committed(40, "")) is Outcome.UNCHANGED


@pytest.mark.parametrize("rule", RULES)
def test_a_refresh_writes_the_same_offset_again(rule: Rule) -> None:
    assert decide(write(40, rule, refresh=True), Committed(40, "")) is None


@pytest.mark.parametrize("refresh", [False, True])
def test_a_refresh_is_no_licence_to_overwrite_what_somebody_wrote_since(refresh: bool) -> None:
    assert decide(write(40, Rule.SET, 40, refresh), Committed(41, "")) is Outcome.NOT_FORWARD


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("stands", [3, 41, 99])
def test_our_tag_does_not_make_a_value_ours_that_was_not_expected(rule: Rule, stands: int) -> None:
    assert decide(write(50, rule), Committed(stands, OURS)) is Outcome.NOT_FORWARD


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("stands", [3, 41, 99])
def test_for_a_person_what_bears_our_tag_is_set_up_or_down_whatever_was_expected(rule: Rule, stands: int) -> None:
    wanted = replace(write(50, rule), replaces_ours=True)
    assert decide(wanted, Committed(stands, OURS)) is None
    assert decide(wanted, Committed(stands, "")) is Outcome.NOT_FORWARD
    assert decide(wanted, Committed(stands, OURS + "\0")) is Outcome.NOT_FORWARD


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("stands", [39, 41])
@pytest.mark.parametrize("expected", [None, 40])
def test_an_unseen_value_is_left_alone_under_every_rule(rule: Rule, stands: int, expected: int | None) -> None:
    assert decide(write(50, rule, expected), Committed(stands, "")) is Outcome.NOT_FORWARD


@pytest.mark.parametrize("rule", [Rule.SET, Rule.FOLLOW])
@pytest.mark.parametrize("offset", [10, 39, 41, 90])
def test_set_and_follow_go_up_and_down_from_the_expected_value(rule: Rule, offset: int) -> None:
    assert decide(write(offset, rule), Committed(40, "")) is None


def test_somebody_elses_value_is_only_moved_forward() -> None:
    assert decide(write(41), Committed(40, "")) is None
    assert decide(write(39), Committed(40, "")) is Outcome.NOT_FORWARD


@given(
    offset=st.integers(0, 6),
    stands=st.integers(0, 6),
    expected=st.none() | st.integers(0, 6),
    rule=st.sampled_from(RULES),
    metadata=st.sampled_from(["", OURS, "theirs"]),
    refresh=st.booleans(),
)
def test_nobody_elses_progress_is_ever_taken_back_unseen(
    offset: int, stands: int, expected: int | None, rule: Rule, metadata: str, refresh: bool
) -> None:
    decided = decide(write(offset, rule, expected, refresh), Committed(stands, metadata))
    moves_back = decided is None and offset < stands
    is_allowed = stands == expected and rule is not Rule.FORWARD
    assert not moves_back or is_allowed
