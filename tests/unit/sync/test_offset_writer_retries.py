"""What a batch does about errors that may pass, silent groups and dead clusters."""

from __future__ import annotations

import pytest

from fakes.target_cluster import Target, once, outcomes, write, write_batch
from offset_sync.kafka.requests import RETRIABLE, THROTTLED, THROTTLED_UNSENT, Committed, SilentError, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import Outcome, Rule, TopicPartition
from offset_sync.sync.offset_writer import GROUPS_AT_ONCE


@pytest.mark.parametrize("error", sorted(RETRIABLE))
def test_a_passing_error_is_tried_again_until_it_passes(error: str) -> None:
    target = Target(refuse=once(error))
    (result,) = write_batch(target, write())
    assert (result.outcome, result.error, len(target.writes)) == (Outcome.COMMITTED, None, 2)


def test_only_the_partitions_that_failed_are_tried_again() -> None:
    failing = [1]
    target = Target(refuse=lambda each: "NOT_COORDINATOR" if each.partition in failing and failing.pop() else None)
    results = write_batch(target, write(partition=0), write(partition=1), write("other"))
    assert outcomes(results) == [Outcome.COMMITTED] * 3
    assert [(each.group_id, each.partition) for each in target.writes] == [
        ("group", 0),
        ("group", 1),
        ("other", 0),
        ("group", 1),
    ]
    assert target.reads == [["group", "other"], ["group"]]


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


def test_what_a_quota_delays_may_have_been_applied_only_where_it_was_sent() -> None:
    for error, is_in_doubt in ((THROTTLED, True), (THROTTLED_UNSENT, False)):
        (result,) = write_batch(Target(refuse=lambda _each, error=error: error), write(), deadline=5.0)
        assert (result.outcome, result.error, result.is_in_doubt) == (Outcome.FAILED, error, is_in_doubt)


def test_a_repetition_does_not_overwrite_a_write_made_while_we_waited() -> None:
    target = Target(refuse=once("REQUEST_TIMED_OUT"))
    target.put("group", 0, 40)
    target.before_read = [lambda: None, lambda: target.put("group", 0, 60)]
    (result,) = write_batch(target, write(expected=40))
    assert (result.outcome, result.previous_offset) == (Outcome.NOT_FORWARD, 40)
    assert target.offsets["group"][TopicPartition("orders", 0)] == Committed(60, "")


def test_a_group_that_cannot_be_asked_for_fails_without_its_neighbours_and_at_once() -> None:
    refusal = ClusterError("dc2", "group '': the empty group id has no coordinator")
    target = Target(read_errors={"": [refusal]})
    results = write_batch(target, write("", 0), write("group"), write("", 1))
    assert outcomes(results) == [Outcome.FAILED, Outcome.COMMITTED, Outcome.FAILED]
    assert (results[0].error, target.seconds) == (str(refusal), 0.0)


def test_a_group_whose_coordinator_is_silent_does_not_hold_up_the_others() -> None:
    target = Target(read_errors={"slow": [TransientError("dc2", "group 'slow': _TIMED_OUT")]})
    results = write_batch(target, write("slow"), write("group"))
    assert outcomes(results) == [Outcome.COMMITTED] * 2
    assert [each.group_id for each in target.writes] == ["group", "slow"]


def test_a_group_that_stays_silent_fails_by_its_last_error_and_leaves_the_others_their_time() -> None:
    target = Target(read_errors={"slow": [TransientError("dc2", "group 'slow': _TIMED_OUT")] * 1000})
    results = write_batch(target, write("slow"), write("group"), deadline=5.0)
    assert outcomes(results) == [Outcome.FAILED, Outcome.COMMITTED]
    assert results[0].error == "clusters.dc2: group 'slow': _TIMED_OUT"
    assert target.seconds <= 5.0


def test_a_cluster_that_comes_back_within_the_deadline_is_written_to() -> None:
    target = Target(silence=[TransientError("dc2", "no answer")] * 3)
    assert outcomes(write_batch(target, write())) == [Outcome.COMMITTED]


def test_a_dead_cluster_fails_every_write_with_the_reason_within_the_deadline() -> None:
    target = Target(silence=[TransientError("dc2", "Connection refused")] * 1000, answer_takes=3.0)
    results = write_batch(target, write("a"), write("b"))
    assert outcomes(results) == [Outcome.FAILED] * 2
    assert {each.error for each in results} == {"clusters.dc2: Connection refused"}
    assert target.seconds <= 15.0


def test_a_client_that_refuses_its_options_is_not_tried_again() -> None:
    target = Target(silence=[ClusterError("dc2", "No such configuration property")])
    assert outcomes(write_batch(target, write())) == [Outcome.FAILED]
    assert len(target.reads) == 1


def test_a_large_batch_is_cut_so_that_each_thousand_groups_have_the_deadline() -> None:
    groups = [f"group-{number}" for number in range(2 * GROUPS_AT_ONCE + 1)]
    target = Target(answer_takes=2.0)
    results = write_batch(target, *(write(group) for group in groups), deadline=5.0)
    assert set(outcomes(results)) == {Outcome.COMMITTED}
    assert [len(each) for each in target.reads] == [GROUPS_AT_ONCE, GROUPS_AT_ONCE, 1]


def test_a_group_that_stays_silent_does_not_cost_the_next_thousand_their_turn() -> None:
    groups = [f"group-{number:04}" for number in range(GROUPS_AT_ONCE + 1)]
    target = Target(read_errors={groups[0]: [TransientError("dc2", "_TIMED_OUT")] * 1000})
    results = write_batch(target, *(write(group) for group in groups), deadline=5.0)
    assert outcomes(results) == [Outcome.FAILED] + [Outcome.COMMITTED] * GROUPS_AT_ONCE


def test_a_dead_cluster_ends_a_large_batch_after_one_deadline() -> None:
    groups = [f"group-{number}" for number in range(3 * GROUPS_AT_ONCE)]
    target = Target(silence=[TransientError("dc2", "Connection refused")] * 1000, answer_takes=3.0)
    results = write_batch(target, *(write(group) for group in groups), deadline=5.0)
    assert set(outcomes(results)) == {Outcome.FAILED}
    assert target.seconds <= 5.0


def test_two_writes_for_one_partition_of_one_group_are_a_mistake_of_the_caller() -> None:
    target = Target()
    with pytest.raises(ValueError, match=r"'group', orders-0"):
        write_batch(target, write(offset=1), write(offset=2))
    assert (target.reads, target.writes) == ([], [])


def test_a_batch_done_twice_changes_nothing_the_second_time() -> None:
    target = Target()
    writes = [write(partition=number, rule=Rule.FORWARD) for number in range(3)]
    write_batch(target, *writes)
    before = dict(target.offsets["group"])
    assert outcomes(write_batch(target, *writes)) == [Outcome.UNCHANGED] * 3
    assert target.offsets["group"] == before


def test_groups_of_a_silent_coordinator_are_given_up_soon_for_the_target_has_other_groups() -> None:
    silent = [SilentError("dc2", "group 'silent': the group's coordinator did not answer in time") for _ in range(99)]
    target = Target(read_errors={"silent": silent})
    results = write_batch(target, write("silent"), write("other"), deadline=60.0)
    assert outcomes(results) == [Outcome.FAILED, Outcome.COMMITTED]
    assert "coordinator did not answer in time" in str(results[0].error)
    assert target.seconds < 12
    assert target.reads == [["other", "silent"], ["silent"], ["silent"]]


def test_a_coordinator_that_answers_again_meanwhile_is_written_to() -> None:
    target = Target(read_errors={"silent": [SilentError("dc2", "no answer")]})
    assert outcomes(write_batch(target, write("silent"))) == [Outcome.COMMITTED]
