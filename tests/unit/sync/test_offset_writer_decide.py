"""What may be overwritten at the target: every row of "Whose commit counts", without I/O."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offset_sync.kafka.requests import Committed
from offset_sync.model.values import OffsetWrite, Outcome, Rule
from offset_sync.sync.offset_writer import decide

RULES = list(Rule)


def write(offset: int, rule: Rule = Rule.FORWARD, expected: int | None = 40, refresh: bool = False) -> OffsetWrite:
    return OffsetWrite("group", "orders", 0, offset, None, rule, expected, refresh)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("expected", [None, 40])
def test_without_a_present_offset_the_offset_is_written_under_every_rule(rule: Rule, expected: int | None) -> None:
    assert decide(write(10, rule, expected), None) is None


@pytest.mark.parametrize("rule", RULES)
def test_the_same_offset_is_left_as_it_is(rule: Rule) -> None:
    assert decide(write(40, rule), Committed(40, "")) is Outcome.UNCHANGED


@pytest.mark.parametrize("rule", RULES)
def test_a_refresh_writes_the_same_offset_again(rule: Rule) -> None:
    assert decide(write(40, rule, refresh=True), Committed(40, "")) is None


@pytest.mark.parametrize("refresh", [False, True])
def test_a_refresh_does_not_overwrite_a_later_write_of_another_client(refresh: bool) -> None:
    assert decide(write(40, Rule.SET, 40, refresh), Committed(41, "")) is Outcome.NOT_FORWARD


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("expected", [None, 40])
def test_a_command_for_a_person_moves_an_unexpected_value_forward_only(rule: Rule, expected: int | None) -> None:
    wanted = replace(write(50, rule, expected), moves_forward=True)
    assert [decide(wanted, Committed(held, "")) for held in (3, 41, 49)] == [None] * 3
    assert decide(wanted, Committed(50, "")) is Outcome.UNCHANGED
    assert [decide(wanted, Committed(held, "")) for held in (51, 99)] == [Outcome.NOT_FORWARD] * 2


@pytest.mark.parametrize(("rule", "outcome"), [(Rule.SET, None), (Rule.FORWARD, Outcome.NOT_FORWARD)])
def test_a_command_for_a_person_goes_back_from_the_expected_value_where_the_rule_does(
    rule: Rule, outcome: Outcome | None
) -> None:
    assert decide(replace(write(10, rule), moves_forward=True), Committed(40, "")) is outcome


@pytest.mark.parametrize("metadata", ["", "offset-sync", "of the client"])
def test_what_is_decided_does_not_depend_on_metadata(metadata: str) -> None:
    assert decide(write(50, Rule.SET), Committed(41, metadata)) is Outcome.NOT_FORWARD
    assert decide(write(50, Rule.SET), Committed(40, metadata)) is None


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("stands", [39, 41])
@pytest.mark.parametrize("expected", [None, 40])
def test_an_unseen_value_is_left_alone_under_every_rule(rule: Rule, stands: int, expected: int | None) -> None:
    assert decide(write(50, rule, expected), Committed(stands, "")) is Outcome.NOT_FORWARD


@pytest.mark.parametrize("rule", [Rule.SET, Rule.FOLLOW])
@pytest.mark.parametrize("offset", [10, 39, 41, 90])
def test_set_and_follow_go_up_and_down_from_the_expected_value(rule: Rule, offset: int) -> None:
    assert decide(write(offset, rule), Committed(40, "")) is None


def test_another_clients_value_is_only_moved_forward() -> None:
    assert decide(write(41), Committed(40, "")) is None
    assert decide(write(39), Committed(40, "")) is Outcome.NOT_FORWARD


@given(
    offset=st.integers(0, 6),
    stands=st.integers(0, 6),
    expected=st.none() | st.integers(0, 6),
    rule=st.sampled_from(RULES),
    refresh=st.booleans(),
    moves_forward=st.booleans(),
)
def test_progress_of_other_clients_is_never_taken_back_unseen(
    offset: int, stands: int, expected: int | None, rule: Rule, refresh: bool, moves_forward: bool
) -> None:
    wanted = replace(write(offset, rule, expected, refresh), moves_forward=moves_forward)
    decided = decide(wanted, Committed(stands, ""))
    moves_back = decided is None and offset < stands
    is_allowed = stands == expected and rule is not Rule.FORWARD
    assert not moves_back or is_allowed
