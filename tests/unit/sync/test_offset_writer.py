"""Writes to a target: what may be overwritten, one outcome each, retries, silence, and a driver that was overtaken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, product, repeat
from typing import Any
from unittest.mock import MagicMock

import pytest

from fakes.target_cluster import Target, once, outcomes, write, write_batch
from offset_sync.kafka.requests import (
    ACTIVE_GROUP,
    RETRIABLE,
    THROTTLED,
    THROTTLED_UNSENT,
    Committed,
    SilentError,
    TransientError,
)
from offset_sync.model.errors import ClusterError, TableError
from offset_sync.model.values import Outcome, TopicPartition
from offset_sync.sync import offset_writer
from offset_sync.sync.offset_writer import GROUPS_AT_ONCE

NO_ANSWER = TransientError("dc2", "Connection refused")
LATE = TransientError("dc2", "group 'slow': _TIMED_OUT")
SILENT = SilentError("dc2", "group 'slow': the group's coordinator did not answer in time")
REFUSAL = ClusterError("dc2", "group 'slow': the empty group id has no coordinator")


def test_only_the_value_that_is_expected_is_overwritten() -> None:
    offsets, either = (1, 2, 3), (False, True)
    for offset, held, expected, *rest in product(offsets, (None, *offsets), (None, *offsets), either, either, either):
        refresh, moves_forward, is_list = rest
        wanted = replace(
            write("g", 0, offset, expected, refresh),
            moves_forward=moves_forward,
            metadata="a list" if is_list else "",
        )
        outcome = offset_writer.decide(wanted, None if held is None else Committed(held, "whatever"))
        if held is None or is_list:
            assert outcome is None
        elif held == offset:
            assert outcome is (None if refresh else Outcome.UNCHANGED)
        else:
            assert outcome is (None if held == expected or (moves_forward and offset > held) else Outcome.NOT_FORWARD)


# Retries


@pytest.mark.parametrize(
    ("error", "times", "outcome", "tries"),
    [
        *((each, 1, Outcome.COMMITTED, 2) for each in sorted(RETRIABLE)),
        *((each, 99, Outcome.TARGET_ACTIVE, 1) for each in sorted(ACTIVE_GROUP)),
        *((each, 99, Outcome.FAILED, 9) for each in ("COORDINATOR_LOAD_IN_PROGRESS", THROTTLED, THROTTLED_UNSENT)),
    ],
)
def test_an_error_that_may_pass_is_tried_again_until_the_deadline(
    error: str, times: int, outcome: Outcome, tries: int
) -> None:
    errors = [error] * times
    target = Target(refuse=lambda _each: errors.pop() if errors else None)
    (result,) = write_batch(target, write(), deadline=5.0)
    assert (result.outcome, result.error) == (outcome, None if outcome is Outcome.COMMITTED else error)
    assert (len(target.writes), target.seconds <= 5.0) == (tries, True)
    assert result.is_in_doubt == (outcome is Outcome.FAILED and error == THROTTLED)


def test_a_write_whose_answer_was_lost_but_that_arrived_counts_as_committed() -> None:
    target = Target(refuse=once("_TIMED_OUT"), applies_refused=True)
    (result,) = write_batch(target, write())
    assert (result.outcome, result.previous_offset, len(target.writes)) == (Outcome.COMMITTED, None, 1)


def test_a_repetition_does_not_overwrite_a_write_made_while_we_waited() -> None:
    target = Target(refuse=once("REQUEST_TIMED_OUT"))
    target.put("group", 0, 40)
    target.before_read = [lambda: None, lambda: target.put("group", 0, 60)]
    (result,) = write_batch(target, write(expected=40))
    assert (result.outcome, result.previous_offset, result.is_in_doubt) == (Outcome.NOT_FORWARD, 40, True)
    assert target.offsets["group"][TopicPartition("orders", 0)] == Committed(60, "")


def test_a_refusal_says_nothing_of_a_try_before_it_whose_answer_was_lost() -> None:
    errors = ["UNKNOWN_MEMBER_ID", "REQUEST_TIMED_OUT"]
    (result,) = write_batch(Target(refuse=lambda _each: errors.pop()), write())
    assert (result.outcome, result.is_in_doubt) == (Outcome.TARGET_ACTIVE, True)


# Silence


@pytest.mark.parametrize("groups", [2, 3 * GROUPS_AT_ONCE])
def test_a_dead_cluster_fails_every_write_with_the_reason_within_one_deadline(groups: int) -> None:
    target = Target(silence=[NO_ANSWER] * 1000, answer_takes=3.0)
    results = write_batch(target, *(write(f"group-{number}") for number in range(groups)))
    assert {(each.outcome, each.error) for each in results} == {(Outcome.FAILED, str(NO_ANSWER))}
    assert target.seconds <= 15.0


@pytest.mark.parametrize(
    ("errors", "outcome", "within_s"),
    [
        ([LATE], Outcome.COMMITTED, 20.0),
        ([LATE] * 1000, Outcome.FAILED, 60.0),
        ([SILENT] * 99, Outcome.FAILED, 12.0),
        ([REFUSAL], Outcome.FAILED, 0.0),
    ],
    ids=["late", "silent", "its coordinator is silent, and others answer", "it cannot be asked for"],
)
def test_a_group_that_cannot_be_read_is_tried_again_after_the_others_are_written(
    errors: Sequence[ClusterError], outcome: Outcome, within_s: float
) -> None:
    target = Target(read_errors={"slow": [*errors]})
    results = write_batch(target, write("slow"), write("group"), deadline=60.0)
    assert outcomes(results) == [outcome, Outcome.COMMITTED]
    assert results[0].error == (None if outcome is Outcome.COMMITTED else str(errors[0]))
    assert (target.writes[0].group_id, target.seconds <= within_s) == ("group", True)


# A driver that may have been overtaken


def fence_of(renewals: Sequence[object], answers: Sequence[bool] = ()) -> Any:
    """Return one that does so when it is renewed, and gives these answers; then it renews, and is open."""
    return MagicMock(
        **{"renew.side_effect": chain(renewals, repeat(None)), "is_open.side_effect": chain(answers, repeat(True))}
    )


def test_a_pause_after_the_look_lets_no_request_out_before_the_next_look() -> None:
    target, looks = Target(), list[int]()
    fence = fence_of([], [False])
    fence.renew.side_effect = lambda: looks.append(len(target.writes))
    assert outcomes(write_batch(target, write("a"), write("b"), fence=fence)) == [Outcome.COMMITTED] * 2
    assert looks == [0, 1]  # a was not sent at first, b was
    assert [each.group_id for each in target.writes] == ["b", "a"]


@pytest.mark.parametrize(("times", "outcome"), [(1, Outcome.COMMITTED), (99, Outcome.FAILED)])
def test_while_the_lease_cannot_be_read_nothing_is_sent(times: int, outcome: Outcome) -> None:
    target, problem = Target(), TableError("tables.drivers cannot be read")
    (found,) = write_batch(target, write(), fence=fence_of([problem] * times))
    assert (found.outcome, len(target.writes)) == (outcome, outcome is Outcome.COMMITTED)
    assert found.error in (None, str(problem))
