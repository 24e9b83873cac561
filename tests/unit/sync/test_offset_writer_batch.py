"""A batch of writes against a target in memory: one outcome each, whatever the target answers."""

from __future__ import annotations

import pytest

from fakes.target_cluster import Target, outcomes, write, write_batch
from offset_sync.model.values import Outcome, Rule


def test_every_write_has_one_outcome_in_the_order_of_the_writes() -> None:
    target = Target()
    target.put("b", 1, 50)
    target.put("a", 0, 60)
    target.refuse = lambda each: "UNKNOWN_MEMBER_ID" if each.group_id == "c" else None
    writes = [write("c"), write("b", 1), write("a", 0), write("b", 0), write("a", 1)]
    results = write_batch(target, *writes)
    assert [(each.group_id, each.partition) for each in results] == [(each.group_id, each.partition) for each in writes]
    assert outcomes(results) == [
        Outcome.TARGET_ACTIVE,
        Outcome.UNCHANGED,
        Outcome.NOT_FORWARD,
        Outcome.COMMITTED,
        Outcome.COMMITTED,
    ]
    assert [each.previous_offset for each in results] == [None, 50, 60, None, None]


def test_an_empty_wave_sends_no_request() -> None:
    target = Target()
    assert write_batch(target) == []
    assert target.reads == []


@pytest.mark.parametrize(
    "error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "STALE_MEMBER_EPOCH"]
)
def test_a_group_with_members_is_left_alone_and_not_tried_again(error: str) -> None:
    target = Target(refuse=lambda each: error)
    (result,) = write_batch(target, write())
    assert (result.outcome, result.error, len(target.writes)) == (Outcome.TARGET_ACTIVE, error, 1)


def test_an_unknown_topic_fails_its_own_partition_only_and_at_once() -> None:
    target = Target(refuse=lambda each: "UNKNOWN_TOPIC_OR_PART" if each.partition == 1 else None)
    results = write_batch(target, write(partition=0), write(partition=1), write(partition=2))
    assert outcomes(results) == [Outcome.COMMITTED, Outcome.FAILED, Outcome.COMMITTED]
    assert (results[1].error, target.seconds) == ("UNKNOWN_TOPIC_OR_PART", 0.0)


def test_a_newer_value_of_another_client_is_left_alone_and_the_error_says_so() -> None:
    target = Target()
    target.put("group", 0, 60)
    (result,) = write_batch(target, write(expected=40))
    assert (result.outcome, result.previous_offset, target.writes) == (Outcome.NOT_FORWARD, 60, [])
    assert result.error is not None
    assert "has offset 60, expected 40" in result.error


def test_another_clients_value_ahead_of_ours_is_not_taken_back() -> None:
    target = Target()
    target.put("group", 0, 60)
    (result,) = write_batch(target, write(rule=Rule.FORWARD, expected=60))
    assert result.outcome is Outcome.NOT_FORWARD
    assert result.error is not None
    assert "ahead of 50" in result.error


def test_a_refresh_writes_the_same_value_again() -> None:
    target = Target()
    target.put("group", 0, 50)
    (result,) = write_batch(target, write(expected=50, refresh=True))
    assert (result.outcome, result.previous_offset, len(target.writes)) == (Outcome.COMMITTED, 50, 1)


def test_a_dry_run_tells_what_would_be_written_and_writes_nothing() -> None:
    target = Target()
    target.put("seen", 0, 50)
    target.put("theirs", 0, 99)
    results = write_batch(target, write("new"), write("seen"), write("theirs"), dry_run=True)
    assert outcomes(results) == [Outcome.DRY_RUN, Outcome.UNCHANGED, Outcome.NOT_FORWARD]
    assert target.writes == []
