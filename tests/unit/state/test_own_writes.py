"""What is known of a cluster's commits however they come, and which are ours: by value, in order, once each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.commits import acknowledge, commit, commit_logs, known, state, take_in
from fakes.clusters import CommitRecord, to_records
from generators.hypothesis_strategies import law
from offset_sync.model.values import ABSENT
from offset_sync.state.cluster_clock import ClusterClock, Read
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.own_writes import Held, OwnWrites


class Ledger:
    """The writes of one key in their order, as ``[value, is in doubt]``, and what is there."""

    def __init__(self) -> None:
        self.writes: list[list[int]] = []
        self.there: int | None = None  # the value that is there
        self.is_ours = False

    def begin(self, value: int) -> None:
        self.writes.append([value, False])

    def last(self, value: int) -> list[int] | None:
        return next((each for each in reversed(self.writes) if each[0] == value), None)

    def doubt(self, value: int) -> None:
        if (last := self.last(value)) is not None:
            last[1] = True

    def abort(self, value: int) -> None:
        last = self.last(value)
        self.writes = [each for each in self.writes if each is not last]

    def note_held(self, value: int) -> None:
        self.writes = [each for each in self.writes if each[1] or each[0] == value]

    def claim(self, value: int) -> bool:
        places = [place for place, (each, _) in enumerate(self.writes) if each == value]
        is_repetition = value == self.there and places[:1] != [0]
        is_own = self.is_ours if is_repetition else bool(places)
        if places and not is_repetition:
            self.writes = self.writes[places[0] + 1 :]
            for each in self.writes:
                each[1] |= each[0] == value
        self.there, self.is_ours = value, is_own
        return is_own


pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=4)
calls = st.tuples(st.sampled_from(["begin", "begin", "begin", "doubt", "note_held", "abort", "claim"]), pairs)


@law(500)
@given(st.lists(calls, min_size=12, max_size=24))
def test_whatever_happens_to_writes_those_pending_are_those_of_a_ledger_kept_write_by_write(
    history: list[tuple[str, list[tuple[int, int]]]],
) -> None:
    own_writes, ledgers = OwnWrites(), (Ledger(), Ledger())
    everything = np.divmod(np.arange(4), 2)
    for call, pairs in [*history, ("claim", [divmod(number // 2, 2) for number in range(8)])]:
        keys, values = (np.array([pair[n] for pair in pairs], np.int64) for n in range(2))
        there = [ABSENT if ledgers[key].there is None else ledgers[key].there for key, _ in pairs]
        is_ours = np.array([ledgers[key].is_ours for key, _ in pairs], np.bool_)
        record = [np.zeros_like(values), Held(np.array(there, np.int64), is_ours)]
        found = getattr(own_writes, call)(keys, values, *record * (call == "claim"))
        expected = [getattr(ledgers[key], call)(value) for key, value in pairs]
        assert found is None or found.tolist() == expected
        pending = [ledgers[key].last(value) is not None for key, value in zip(*everything, strict=True)]
        assert own_writes.is_pending(*everything).tolist() == pending


def test_writes_that_are_never_read_back_are_forgotten_in_the_end() -> None:
    own_writes, key = OwnWrites(), np.zeros(70, np.intp)
    own_writes.begin(key, np.arange(70))
    assert own_writes.is_pending(key, np.arange(70)).tolist() == [False] * 6 + [True] * 64


# In the light of a cluster's log


def test_a_negative_offset_is_recorded_and_is_no_position() -> None:
    committed = CommittedOffsets(["X"])
    assert take_in(committed, commit(5, 1), commit(-7, 2)) == [False, False]
    found = known(committed)
    assert (found["actual_offset"], found["genuine_offset"], found["genuine_at_ms"]) == (-1, 5, 1)
    assert not found["is_deleted"]


# Repetition


writes = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([3, 4, 5])), max_size=4)


@law(150)
@given(commit_logs, writes, st.lists(st.integers(0, 12), max_size=6), st.booleans())
def test_any_batches_with_any_repetition_give_the_same_state(
    log: list[CommitRecord], written: list[tuple[str, int]], borders: list[int], steps_back: bool
) -> None:
    whole, pieces = CommittedOffsets(["X"]), CommittedOffsets(["X"])
    for committed in (whole, pieces):
        committed.ids([("a", "orders", 0), ("b", "orders", 0)])
        for group, offset in written:
            acknowledge(committed, offset, group=group)
    take_in(whole, *log)
    read = 0
    for border in [*sorted(borders), len(log)]:
        first = max(0, read - 2) if steps_back else read
        take_in(pieces, *log[first:border], first=first)
        read = max(read, min(border, len(log)))
    assert state(pieces) == state(whole)


def nothing(records: int) -> Held:
    """Return that there was nothing before *records*."""
    return Held(np.full(records, ABSENT), np.zeros(records, np.bool_))


def test_a_noted_write_that_is_read_ends_those_before_it_and_stays_noted_until_it_is_recorded() -> None:
    """Compaction has removed the record of the earlier write; the group is started at its offset."""
    own_writes, noted = OwnWrites(), [(0, 4, 1), (0, 9, 2), (0, 5, 4), (1, 9, 3)]
    own_writes.begin(*np.array(noted).T)
    for _ in range(2):
        own_writes.forget_matches()
        assert own_writes.unrecorded() == noted
        assert own_writes.claim(*np.array([[0, 1, 0], [9, 9, 4], [4] * 3]), nothing(3)).tolist() == [True, True, False]
        assert sorted(own_writes.unrecorded()) == sorted(noted)
    own_writes.note_recorded()
    assert own_writes.unrecorded() == [(0, 5, 4)]


def test_a_write_in_doubt_explains_no_commit_of_five_minutes_later() -> None:
    """Else a reset to where the group was started would be taken for the write that had started it there."""
    own_writes, at_ms = OwnWrites(), 1_000_000
    key, value = np.arange(3), np.full(3, 4)
    own_writes.begin(key, value)
    own_writes.doubt(key, value, at_ms)
    own_writes.begin(key[2:], value[2:], at_ms)
    since_ms = at_ms + np.array([300_000, 300_001, 300_001])
    assert own_writes.claim(key, value, since_ms, nothing(3)).tolist() == [True, False, True]
    for is_answered in (False, True):  # until then it may be sent at any time, whoever leads by now
        sent = OwnWrites()
        sent.begin(key[:1], value[:1], 1)
        sent.doubt_all(1)
        if is_answered:
            sent.note_answered(key[:1], value[:1], at_ms)
        assert sent.claim(key[:1], value[:1], since_ms[1:2], nothing(1)).tolist() == [not is_answered]
    clock = ClusterClock()
    (read_ms,) = clock.made_ms(np.array([9 * at_ms]), Read(2 * at_ms))
    assert read_ms - clock.undated_ms < at_ms  # nothing tells how far that clock is ahead


IN_DOUBT: dict[str, tuple[list[int], int, list[int]]] = {
    "a write between two of one value is no retry": ([100, 120, 100], ABSENT, [100, 120, 100]),
    "a repetition of what is there ends no later write": ([100, 120], 120, [120, 100, 120]),
    "nor does one of the group's": ([120, 110], 110, [110, 120, 110]),
    "a retry and its first try may both be there": ([100, 100, 120, 130], ABSENT, [100, 100, 120, 130]),
    "also with a deletion between them": ([100, 100], ABSENT, [100, -1, 100]),
}


@pytest.mark.parametrize("name", IN_DOUBT)
def test_none_of_our_records_counts_as_the_groups(name: str) -> None:
    """A value that was raised to a log start is above records that the group has not read."""
    writes, there, log = IN_DOUBT[name]
    own_writes, zero = OwnWrites(), np.zeros(len(log), np.intp)
    own_writes.begin(zero[: len(writes)], np.array(writes), is_in_doubt=True)
    held = Held(np.full(len(log), there), np.full(len(log), there != 110))
    assert own_writes.claim(zero, np.array(log), zero, held).tolist()[1:] == [each >= 0 for each in log[1:]]


def test_what_was_acknowledged_since_does_not_hide_what_the_log_has_before_it() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 4)
    assert take_in(committed, commit(4, 1)) == [True]
    acknowledge(committed, 5, 2)
    assert known(committed)["actual_offset"] == 5
    assert take_in(committed, commit(4, 2), commit(5, 3), first=1) == [True, True]


def test_an_answer_says_nothing_once_the_record_may_have_been_read_or_lost() -> None:
    """It may be that of the first write, and a commit of the group may have followed it."""
    committed, writes = CommittedOffsets(["X"]), (np.zeros(3, np.intp), np.array([4, 4, 5]))
    mine = committed.clusters["X"]
    mine.own_writes.begin(*writes)
    take_in(committed, commit(4, 1), commit(6, 2))
    mine.acknowledge(*(each[:2] for each in writes), 3)
    mine.forget_acknowledged()
    mine.acknowledge(*(each[2:] for each in writes), 3)
    assert known(committed)["actual_offset"] == 6


def test_a_deletion_ends_a_repetition() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 4)
    assert take_in(committed, commit(4, 1), commit(None, 2), commit(4, 3)) == [True, False, False]


def test_a_replay_knows_nothing_else_and_another_process_tells_who_has_committed() -> None:
    committed = CommittedOffsets(["X"])
    mine, record = committed.clusters["X"], to_records([commit(4, 1, topic_id="id")], [0], 0)
    acknowledge(committed, 4)
    mine.record_known(record, np.array([False]))
    assert take_in(committed, commit(4, 2, topic_id="id"), first=1) == [True]
    for forget in (
        lambda: mine.forget_read(np.array([0])),
        lambda: mine.replay(record, np.array([True]), np.array([9]), np.array([0])),
    ):
        acknowledge(committed, 5)
        forget()
        mine.forget_acknowledged()
        assert known(committed)["actual_offset"] == ABSENT
    assert known(committed)["topic_id"] is None
