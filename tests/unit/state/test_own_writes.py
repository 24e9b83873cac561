"""What is known of a cluster's commits however they come, and which are ours: by value, in order, once each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from builders.commits import acknowledge, commit, commit_logs, known, state, take_in
from fakes.clusters import CommitRecord
from generators.hypothesis_strategies import law
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.own_writes import OwnWrites


class Ledger:
    """The writes of one key in their order, write by write, as ``[value, is in doubt, is inherited]``."""

    def __init__(self) -> None:
        self.writes: list[list[int]] = []

    def last(self, value: int) -> list[int] | None:
        return next((each for each in reversed(self.writes) if each[0] == value), None)

    def begin(self, value: int) -> None:
        self.writes.append([value, False, False])

    def resolve(self, held: int) -> None:
        self.writes = [[value, False, old] for value, doubted, old in self.writes if not doubted or value == held]

    def note_held(self, held: int) -> None:
        same = self.last(held)
        self.writes = [same] if same else [each for each in self.writes if each[1]]

    def doubt(self, value: int) -> None:
        if (last := self.last(value)) is not None:
            is_retry = any(each is not last and each[:2] == [value, True] for each in self.writes)
            self.abort(value) if is_retry else last.__setitem__(1, True)

    def abort(self, value: int) -> None:
        last = self.last(value)
        self.writes = [each for each in self.writes if each is not last]

    def drop_inherited(self) -> None:
        self.writes = [each for each in self.writes if not each[2]]

    def doubt_inherited(self) -> None:
        self.writes = [[value, doubted or old, old] for value, doubted, old in self.writes]

    def claim(self, value: int) -> bool:
        number = next((number for number, each in enumerate(self.writes) if each[0] == value), None)
        if number is None:
            return False
        (_, is_in_doubt, _), *self.writes = self.writes[number:]
        while is_in_doubt and self.last(value):
            self.writes = self.writes[1:]
        return True


pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=4)
of_writes = ["begin", "begin", "doubt", "resolve", "note_held", "doubt", "abort", "claim", "inherit"]
kinds = st.sampled_from([*of_writes, "drop_inherited", "doubt_inherited"])
calls = st.tuples(kinds, pairs)


@law(500)
@given(st.lists(calls, min_size=12, max_size=24))
def test_whatever_happens_to_writes_those_pending_are_those_of_a_ledger_kept_write_by_write(
    history: list[tuple[str, list[tuple[int, int]]]],
) -> None:
    own_writes, ledgers = OwnWrites(), (Ledger(), Ledger())
    everything = np.divmod(np.arange(4), 2)
    for call, pairs in [*history, ("claim", [divmod(number // 2, 2) for number in range(8)])]:
        keys, values = (np.array([pair[n] for pair in pairs], np.int64) for n in range(2))
        if call == "inherit":
            for key, value in pairs:
                own_writes.inherit(key, [(value, 0)])
                ledgers[key].writes.insert(0, [value, False, True])
        elif call.endswith("inherited"):
            for each in (own_writes, *ledgers):
                getattr(each, call)()
        else:
            found = getattr(own_writes, call)(keys, values, *[np.zeros_like(values)] * (call == "claim"))
            expected = [getattr(ledgers[key], call)(value) for key, value in pairs]
            assert found is None or found.tolist() == expected
        pending = [ledgers[key].last(value) is not None for key, value in zip(*everything, strict=True)]
        assert own_writes.is_pending(*everything).tolist() == pending


def test_writes_that_are_never_read_back_are_forgotten_in_the_end() -> None:
    own_writes, key = OwnWrites(), np.zeros(70, np.intp)
    own_writes.begin(key, np.arange(70))
    assert own_writes.unrecorded() == []  # they are another process's
    own_writes.inherit(0, [(offset, 0) for offset in range(70, 80)])
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


def test_a_noted_write_that_is_read_ends_those_before_it_and_stays_noted_until_it_is_recorded() -> None:
    """Compaction has removed the record of the earlier write; the group is started at its offset."""
    own_writes, noted = OwnWrites(), [(0, 4, 1), (0, 9, 2), (1, 9, 3)]
    own_writes.inherit(0, [(4, 1), (9, 2)])
    own_writes.inherit(1, [(9, 3)])
    assert own_writes.unrecorded() == noted
    assert own_writes.claim(*np.array([[0, 1, 0], [9, 9, 4], [3, 3, 4]])).tolist() == [True, True, False]
    assert own_writes.unrecorded() == noted
    own_writes.note_recorded()
    assert own_writes.unrecorded() == []


def test_what_was_noted_and_never_sent_explains_no_later_commit_and_what_was_refreshed_since_is_ours_twice() -> None:
    own_writes, at_ms = OwnWrites(), 1_000_000
    own_writes.inherit(0, [(4, at_ms)])
    own_writes.inherit(1, [(5, at_ms), (4, at_ms + 1)])
    own_writes.inherit(2, [(4, at_ms)])
    since_ms = at_ms + np.array([60_001, -60_001, -60_000, 0, 60_001, -1 - at_ms, -1 - at_ms])
    is_own = own_writes.claim(np.array([0, 0, 0, 0, 1, 2, 2]), np.full(7, 4), since_ms).tolist()
    assert is_own == [False, True, True, False, True, True, False], "a first poll tells no time"
