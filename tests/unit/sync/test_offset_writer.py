"""Writes to a target: what may be overwritten, one outcome each, retries, silence, and a driver that was overtaken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.target_cluster import Target, once, outcomes, write, write_batch
from offset_sync.kafka.requests import RETRIABLE, THROTTLED, THROTTLED_UNSENT, Committed, SilentError, TransientError
from offset_sync.model.errors import ClusterError, TableError
from offset_sync.model.values import Outcome, Rule, TopicPartition
from offset_sync.sync.offset_writer import GROUPS_AT_ONCE, decide

NO_ANSWER = TransientError("dc2", "Connection refused")

# What may be overwritten


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize(
    ("offset", "held", "outcome"),
    [
        (50, None, None),
        (40, 40, Outcome.UNCHANGED),
        (50, 39, Outcome.NOT_FORWARD),
        (50, 41, Outcome.NOT_FORWARD),
        (50, 40, None),
        (10, 40, "as the rule says"),
    ],
)
def test_only_the_value_that_is_expected_is_overwritten_and_anothers_forward_only(
    offset: int, held: int | None, outcome: Outcome | str | None, rule: Rule
) -> None:
    if outcome == "as the rule says":
        outcome = Outcome.NOT_FORWARD if rule is Rule.FORWARD else None
    actual = None if held is None else Committed(held, "whatever")
    wanted = write(offset=offset, rule=rule, expected=40)
    assert decide(wanted, actual) is outcome
    assert decide(replace(wanted, refresh=True), actual) is (None if offset == held else outcome)
    assert decide(replace(wanted, metadata="a list"), actual) is None
    is_forward = outcome is None or offset > (held or 0)
    assert decide(replace(wanted, moves_forward=True), actual) is (None if is_forward else outcome)


@given(
    offset=st.integers(0, 6),
    stands=st.integers(0, 6),
    expected=st.none() | st.integers(0, 6),
    rule=st.sampled_from(Rule),
    refresh=st.booleans(),
    moves_forward=st.booleans(),
)
def test_progress_of_other_clients_is_never_taken_back_unseen(
    offset: int, stands: int, expected: int | None, rule: Rule, refresh: bool, moves_forward: bool
) -> None:
    wanted = replace(write(offset=offset, rule=rule, expected=expected, refresh=refresh), moves_forward=moves_forward)
    moves_back = decide(wanted, Committed(stands, "")) is None and offset < stands
    assert not moves_back or (stands == expected and rule is not Rule.FORWARD)


# Outcomes


def test_every_write_has_one_outcome_in_the_order_of_the_writes() -> None:
    errors = {"c": "UNKNOWN_MEMBER_ID", "d": "UNKNOWN_TOPIC_OR_PART"}
    target = Target(refuse=lambda each: errors.get(each.group_id))
    target.put("b", 1, 50)
    target.put("a", 0, 60)
    writes = [write("c"), write("b", 1), write("a", 0), write("b", 0), write("d"), write("a", 1)]
    results = write_batch(target, *writes)
    assert [(each.group_id, each.partition) for each in results] == [(each.group_id, each.partition) for each in writes]
    assert outcomes(results) == [
        Outcome.TARGET_ACTIVE,
        Outcome.UNCHANGED,
        Outcome.NOT_FORWARD,
        Outcome.COMMITTED,
        Outcome.FAILED,
        Outcome.COMMITTED,
    ]
    assert [each.previous_offset for each in results] == [None, 50, 60, None, None, None]
    assert (results[4].error, target.seconds) == ("UNKNOWN_TOPIC_OR_PART", 0.0)


@pytest.mark.parametrize(
    "error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "STALE_MEMBER_EPOCH"]
)
def test_a_group_with_members_is_left_alone_and_not_tried_again(error: str) -> None:
    target = Target(refuse=lambda each: error)
    (result,) = write_batch(target, write())
    assert (result.outcome, result.error, len(target.writes)) == (Outcome.TARGET_ACTIVE, error, 1)


@pytest.mark.parametrize(("expected", "words"), [(40, "has offset 60, expected 40"), (60, "ahead of 50")])
def test_another_clients_value_ahead_of_ours_is_not_taken_back(expected: int, words: str) -> None:
    target = Target()
    target.put("group", 0, 60)
    (result,) = write_batch(target, write(rule=Rule.FORWARD, expected=expected))
    assert (result.outcome, result.previous_offset, target.writes) == (Outcome.NOT_FORWARD, 60, [])
    assert words in str(result.error)


# Retries


@pytest.mark.parametrize("error", sorted(RETRIABLE))
def test_a_passing_error_is_tried_again_until_it_passes(error: str) -> None:
    target = Target(refuse=once(error))
    (result,) = write_batch(target, write())
    assert (result.outcome, result.error, len(target.writes)) == (Outcome.COMMITTED, None, 2)


def test_an_error_that_does_not_pass_fails_by_its_name_when_the_deadline_is_over() -> None:
    target = Target(refuse=lambda each: "COORDINATOR_LOAD_IN_PROGRESS")
    (result,) = write_batch(target, write(), deadline=5.0)
    assert (result.outcome, result.error) == (Outcome.FAILED, "COORDINATOR_LOAD_IN_PROGRESS")
    assert 4.0 < target.seconds <= 5.0
    assert len(target.writes) > 2


def test_a_write_whose_answer_was_lost_but_that_arrived_counts_as_committed() -> None:
    target = Target(refuse=once("_TIMED_OUT"), applies_refused=True)
    (result,) = write_batch(target, write())
    assert (result.outcome, result.previous_offset, len(target.writes)) == (Outcome.COMMITTED, None, 1)


def test_a_repetition_does_not_overwrite_a_write_made_while_we_waited() -> None:
    target = Target(refuse=once("REQUEST_TIMED_OUT"))
    target.put("group", 0, 40)
    target.before_read = [lambda: None, lambda: target.put("group", 0, 60)]
    (result,) = write_batch(target, write(expected=40))
    assert (result.outcome, result.previous_offset) == (Outcome.NOT_FORWARD, 40)
    assert target.offsets["group"][TopicPartition("orders", 0)] == Committed(60, "")


# Silence


@pytest.mark.parametrize("groups", [2, 3 * GROUPS_AT_ONCE])
def test_a_dead_cluster_fails_every_write_with_the_reason_within_one_deadline(groups: int) -> None:
    target = Target(silence=[NO_ANSWER] * 1000, answer_takes=3.0)
    results = write_batch(target, *(write(f"group-{number}") for number in range(groups)))
    assert {(each.outcome, each.error) for each in results} == {(Outcome.FAILED, str(NO_ANSWER))}
    assert target.seconds <= 15.0


# A driver that may have been overtaken


@dataclass
class Fence:
    """Does what a test wants when it is renewed, and stays open for so many questions."""

    renewals: list[Callable[[], None] | Exception] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)

    def renew(self) -> None:
        if self.renewals:
            wanted = self.renewals.pop(0)
            if isinstance(wanted, Exception):
                raise wanted
            wanted()

    def is_open(self) -> bool:
        return self.answers.pop(0) if self.answers else True


def test_a_pause_after_the_look_lets_no_request_out_before_the_next_look() -> None:
    target, looks = Target(), list[int]()
    fence = Fence([lambda: looks.append(len(target.writes)), lambda: looks.append(len(target.writes))], [False])
    assert outcomes(write_batch(target, write("a"), write("b"), fence=fence)) == [Outcome.COMMITTED] * 2
    assert looks == [0, 1]  # a was not sent at first, b was
    assert [each.group_id for each in target.writes] == ["b", "a"]


def test_what_a_quota_delays_may_have_been_applied_only_where_it_was_sent() -> None:
    for error, is_in_doubt in ((THROTTLED, True), (THROTTLED_UNSENT, False)):
        (result,) = write_batch(Target(refuse=lambda _each, error=error: error), write(), deadline=5.0)
        assert (result.outcome, result.error, result.is_in_doubt) == (Outcome.FAILED, error, is_in_doubt)


LATE = TransientError("dc2", "group 'slow': _TIMED_OUT")


def test_a_group_that_cannot_be_asked_for_fails_without_its_neighbours_and_at_once() -> None:
    refusal = ClusterError("dc2", "group '': the empty group id has no coordinator")
    target = Target(read_errors={"": [refusal]})
    results = write_batch(target, write("", 0), write("group"), write("", 1))
    assert outcomes(results) == [Outcome.FAILED, Outcome.COMMITTED, Outcome.FAILED]
    assert (results[0].error, target.seconds) == (str(refusal), 0.0)


@pytest.mark.parametrize(("times", "outcome"), [(1, Outcome.COMMITTED), (1000, Outcome.FAILED)])
def test_a_group_that_is_silent_is_read_again_after_the_others_are_written(times: int, outcome: Outcome) -> None:
    target = Target(read_errors={"slow": [LATE] * times})
    results = write_batch(target, write("slow"), write("group"), deadline=5.0)
    assert outcomes(results) == [outcome, Outcome.COMMITTED]
    assert results[0].error in (None, str(LATE))
    assert target.writes[0].group_id == "group"
    assert target.seconds <= 5.0


def test_groups_of_a_silent_coordinator_are_given_up_soon_for_the_target_has_other_groups() -> None:
    silent = SilentError("dc2", "group 'silent': the group's coordinator did not answer in time")
    target = Target(read_errors={"silent": [silent] * 99})
    results = write_batch(target, write("silent"), write("other"), deadline=60.0)
    assert outcomes(results) == [Outcome.FAILED, Outcome.COMMITTED]
    assert "coordinator did not answer in time" in str(results[0].error)
    assert target.seconds < 12
    assert target.reads == [["other", "silent"], ["silent"], ["silent"]]


@pytest.mark.parametrize(("times", "outcome"), [(1, Outcome.COMMITTED), (99, Outcome.FAILED)])
def test_while_the_lease_cannot_be_read_nothing_is_sent(times: int, outcome: Outcome) -> None:
    target, problem = Target(), TableError("tables.drivers cannot be read")
    (found,) = write_batch(target, write(), deadline=0.5 if times > 1 else 15.0, fence=Fence([problem] * times))
    assert (found.outcome, len(target.writes)) == (outcome, outcome is Outcome.COMMITTED)
    assert found.error in (None, str(problem))
