"""A wave of writes against a target in memory: one outcome each, whatever the target answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from offset_sync.errors import ClusterError
from offset_sync.kafka.admin import Committed
from offset_sync.kafka.error_names import RETRIABLE, TransientError
from offset_sync.kafka.retrying import Clock
from offset_sync.model import OffsetWrite, Outcome, Rule, TopicPartition, WriteOutcome
from offset_sync.sink import GROUPS_AT_ONCE, commit_wave

OURS = "offset-sync:1"
Errors = dict[TopicPartition, str | None]
Read = Mapping[TopicPartition, Committed] | ClusterError


@dataclass
class Target:
    """Holds offsets; *refuse* gives the error of a write, *before_read* happens in between."""

    offsets: dict[str, dict[TopicPartition, Committed]] = field(default_factory=dict)
    refuse: Callable[[OffsetWrite], str | None] = lambda write: None
    applies_refused: bool = False
    read_errors: dict[str, list[ClusterError]] = field(default_factory=dict)
    silence: list[ClusterError] = field(default_factory=list)
    before_read: list[Callable[[], None]] = field(default_factory=list)
    reads: list[list[str]] = field(default_factory=list)
    writes: list[OffsetWrite] = field(default_factory=list)
    seconds: float = 0.0
    answer_takes: float = 0.0

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Mapping[str, Read]:
        self.reads.append(list(groups))
        self.seconds += min(self.answer_takes, deadline)
        if self.before_read:
            self.before_read.pop(0)()
        if self.silence:
            raise self.silence.pop(0)
        found = {group: self._read(group) for group in groups}
        if any(isinstance(each, TransientError) for each in found.values()):
            self.seconds += deadline  # a silent group is waited for as long as there is time
        return found

    def _read(self, group: str) -> Read:
        errors = self.read_errors.get(group)
        return errors.pop(0) if errors else dict(self.offsets.get(group, {}))

    def write_offsets(
        self, writes: Mapping[str, Sequence[OffsetWrite]], deadline: float
    ) -> Mapping[str, Errors | ClusterError]:
        return {
            group: {
                TopicPartition(each.topic, each.partition): self._write(each) if deadline > 0 else "_TIMED_OUT"
                for each in wanted
            }
            for group, wanted in writes.items()
        }

    def _write(self, write: OffsetWrite) -> str | None:
        self.writes.append(write)
        error = self.refuse(write)
        if error is None or self.applies_refused:
            self.put(write.group_id, write.partition, write.offset, write.metadata)
        return error

    def put(self, group: str, partition: int, offset: int, metadata: str = "") -> None:
        self.offsets.setdefault(group, {})[TopicPartition("orders", partition)] = Committed(offset, metadata)

    def clock(self) -> Clock:
        return Clock(lambda: self.seconds, self._pass)

    def _pass(self, seconds: float) -> None:
        self.seconds += seconds


def write(
    group: str = "group",
    partition: int = 0,
    offset: int = 50,
    rule: Rule = Rule.SET,
    expected: int | None = None,
    refresh: bool = False,
) -> OffsetWrite:
    return OffsetWrite(group, "orders", partition, offset, OURS, rule, expected, refresh)


def wave(target: Target, *writes: OffsetWrite, dry_run: bool = False, deadline: float = 15.0) -> list[WriteOutcome]:
    return commit_wave(writes, target, own_tag=OURS, dry_run=dry_run, deadline=deadline, clock=target.clock())


def outcomes(results: Sequence[WriteOutcome]) -> list[Outcome]:
    return [each.outcome for each in results]


def once(error: str) -> Callable[[OffsetWrite], str | None]:
    errors = [error]
    return lambda write: errors.pop() if errors else None


def test_every_write_has_one_outcome_in_the_order_of_the_writes() -> None:
    target = Target()
    target.put("b", 1, 50)
    target.put("a", 0, 60)
    target.refuse = lambda each: "UNKNOWN_MEMBER_ID" if each.group_id == "c" else None
    writes = [write("c"), write("b", 1), write("a", 0), write("b", 0), write("a", 1)]
    results = wave(target, *writes)
    assert [(each.group_id, each.partition) for each in results] == [(each.group_id, each.partition) for each in writes]
    assert outcomes(results) == [
        Outcome.TARGET_ACTIVE,
        Outcome.UNCHANGED,
        Outcome.NOT_FORWARD,
        Outcome.COMMITTED,
        Outcome.COMMITTED,
    ]
    assert [each.previous_offset for each in results] == [None, 50, 60, None, None]


def test_an_empty_wave_asks_nobody() -> None:
    target = Target()
    assert wave(target) == []
    assert target.reads == []


def test_what_is_committed_carries_the_metadata_that_was_wanted() -> None:
    target = Target()
    wave(target, write())
    assert target.offsets == {"group": {TopicPartition("orders", 0): Committed(50, OURS)}}


@pytest.mark.parametrize(
    "error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "STALE_MEMBER_EPOCH"]
)
def test_a_group_with_members_is_left_alone_and_not_tried_again(error: str) -> None:
    target = Target(refuse=lambda each: error)
    (result,) = wave(target, write())
    assert (result.outcome, result.error, len(target.writes)) == (Outcome.TARGET_ACTIVE, error, 1)


def test_an_unknown_topic_fails_its_own_partition_only_and_at_once() -> None:
    target = Target(refuse=lambda each: "UNKNOWN_TOPIC_OR_PART" if each.partition == 1 else None)
    results = wave(target, write(partition=0), write(partition=1), write(partition=2))
    assert outcomes(results) == [Outcome.COMMITTED, Outcome.FAILED, Outcome.COMMITTED]
    assert (results[1].error, target.seconds) == ("UNKNOWN_TOPIC_OR_PART", 0.0)


def test_a_newer_value_of_somebody_else_is_left_alone_and_the_error_says_so() -> None:
    target = Target()
    target.put("group", 0, 60)
    (result,) = wave(target, write(expected=40))
    assert (result.outcome, result.previous_offset, target.writes) == (Outcome.NOT_FORWARD, 60, [])
    assert result.error is not None
    assert "holds 60 where 40 was expected" in result.error


def test_somebody_elses_value_ahead_of_ours_is_not_taken_back() -> None:
    target = Target()
    target.put("group", 0, 60)
    (result,) = wave(target, write(rule=Rule.FORWARD, expected=60))
    assert result.outcome is Outcome.NOT_FORWARD
    assert result.error is not None
    assert "ahead of 50" in result.error


def test_a_refresh_writes_the_same_value_again() -> None:
    target = Target()
    target.put("group", 0, 50, OURS)
    (result,) = wave(target, write(expected=50, refresh=True))
    assert (result.outcome, result.previous_offset, len(target.writes)) == (Outcome.COMMITTED, 50, 1)


def test_a_dry_run_tells_what_would_be_written_and_writes_nothing() -> None:
    target = Target()
    target.put("seen", 0, 50)
    target.put("theirs", 0, 99)
    results = wave(target, write("new"), write("seen"), write("theirs"), dry_run=True)
    assert outcomes(results) == [Outcome.DRY_RUN, Outcome.UNCHANGED, Outcome.NOT_FORWARD]
    assert target.writes == []


@pytest.mark.parametrize("error", sorted(RETRIABLE))
def test_a_passing_error_is_tried_again_until_it_passes(error: str) -> None:
    target = Target(refuse=once(error))
    (result,) = wave(target, write())
    assert (result.outcome, result.error, len(target.writes)) == (Outcome.COMMITTED, None, 2)


def test_only_the_partitions_that_failed_are_tried_again() -> None:
    failing = [1]
    target = Target(refuse=lambda each: "NOT_COORDINATOR" if each.partition in failing and failing.pop() else None)
    results = wave(target, write(partition=0), write(partition=1), write("other"))
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
    (result,) = wave(target, write(), deadline=5.0)
    assert (result.outcome, result.error) == (Outcome.FAILED, "COORDINATOR_LOAD_IN_PROGRESS")
    assert 4.0 < target.seconds <= 5.0
    assert len(target.writes) > 2


def test_a_write_whose_answer_was_lost_but_that_arrived_counts_as_committed() -> None:
    target = Target(refuse=once("_TIMED_OUT"), applies_refused=True)
    (result,) = wave(target, write())
    assert (result.outcome, result.previous_offset, len(target.writes)) == (Outcome.COMMITTED, None, 1)


def test_a_repetition_does_not_go_over_what_somebody_wrote_while_we_waited() -> None:
    target = Target(refuse=once("REQUEST_TIMED_OUT"))
    target.put("group", 0, 40)
    target.before_read = [lambda: None, lambda: target.put("group", 0, 60)]
    (result,) = wave(target, write(expected=40))
    assert (result.outcome, result.previous_offset) == (Outcome.NOT_FORWARD, 40)
    assert target.offsets["group"][TopicPartition("orders", 0)] == Committed(60, "")


def test_a_group_that_cannot_be_asked_for_fails_without_its_neighbours_and_at_once() -> None:
    refusal = ClusterError("dc2", "group '': the empty group id has no coordinator")
    target = Target(read_errors={"": [refusal]})
    results = wave(target, write("", 0), write("group"), write("", 1))
    assert outcomes(results) == [Outcome.FAILED, Outcome.COMMITTED, Outcome.FAILED]
    assert (results[0].error, target.seconds) == (str(refusal), 0.0)


def test_a_group_whose_coordinator_is_silent_does_not_hold_up_the_others() -> None:
    target = Target(read_errors={"slow": [TransientError("dc2", "group 'slow': _TIMED_OUT")]})
    results = wave(target, write("slow"), write("group"))
    assert outcomes(results) == [Outcome.COMMITTED] * 2
    assert [each.group_id for each in target.writes] == ["group", "slow"]


def test_a_group_that_stays_silent_fails_by_its_last_error_and_leaves_the_others_their_time() -> None:
    target = Target(read_errors={"slow": [TransientError("dc2", "group 'slow': _TIMED_OUT")] * 1000})
    results = wave(target, write("slow"), write("group"), deadline=5.0)
    assert outcomes(results) == [Outcome.FAILED, Outcome.COMMITTED]
    assert results[0].error == "clusters.dc2: group 'slow': _TIMED_OUT"
    assert target.seconds <= 5.0


def test_a_cluster_that_comes_back_within_the_deadline_is_written_to() -> None:
    target = Target(silence=[TransientError("dc2", "no answer")] * 3)
    assert outcomes(wave(target, write())) == [Outcome.COMMITTED]


def test_a_dead_cluster_fails_every_write_with_the_reason_within_the_deadline() -> None:
    target = Target(silence=[TransientError("dc2", "Connection refused")] * 1000, answer_takes=3.0)
    results = wave(target, write("a"), write("b"))
    assert outcomes(results) == [Outcome.FAILED] * 2
    assert {each.error for each in results} == {"clusters.dc2: Connection refused"}
    assert target.seconds <= 15.0


def test_a_client_that_refuses_its_options_is_not_tried_again() -> None:
    target = Target(silence=[ClusterError("dc2", "No such configuration property")])
    assert outcomes(wave(target, write())) == [Outcome.FAILED]
    assert len(target.reads) == 1


def test_a_large_wave_is_cut_so_that_each_thousand_groups_have_the_deadline() -> None:
    groups = [f"group-{number}" for number in range(2 * GROUPS_AT_ONCE + 1)]
    target = Target(answer_takes=2.0)
    results = wave(target, *(write(group) for group in groups), deadline=5.0)
    assert set(outcomes(results)) == {Outcome.COMMITTED}
    assert [len(each) for each in target.reads] == [GROUPS_AT_ONCE, GROUPS_AT_ONCE, 1]


def test_a_group_that_stays_silent_does_not_cost_the_next_thousand_their_turn() -> None:
    groups = [f"group-{number:04}" for number in range(GROUPS_AT_ONCE + 1)]
    target = Target(read_errors={groups[0]: [TransientError("dc2", "_TIMED_OUT")] * 1000})
    results = wave(target, *(write(group) for group in groups), deadline=5.0)
    assert outcomes(results) == [Outcome.FAILED] + [Outcome.COMMITTED] * GROUPS_AT_ONCE


def test_a_dead_cluster_ends_a_large_wave_after_one_deadline() -> None:
    groups = [f"group-{number}" for number in range(3 * GROUPS_AT_ONCE)]
    target = Target(silence=[TransientError("dc2", "Connection refused")] * 1000, answer_takes=3.0)
    results = wave(target, *(write(group) for group in groups), deadline=5.0)
    assert set(outcomes(results)) == {Outcome.FAILED}
    assert target.seconds <= 5.0


def test_two_writes_for_one_partition_of_one_group_are_a_mistake_of_the_caller() -> None:
    target = Target()
    with pytest.raises(ValueError, match=r"'group', orders-0"):
        wave(target, write(offset=1), write(offset=2))
    assert (target.reads, target.writes) == ([], [])


def test_a_wave_done_twice_changes_nothing_the_second_time() -> None:
    target = Target()
    writes = [write(partition=number, rule=Rule.FORWARD) for number in range(3)]
    wave(target, *writes)
    before = dict(target.offsets["group"])
    assert outcomes(wave(target, *writes)) == [Outcome.UNCHANGED] * 3
    assert target.offsets["group"] == before
