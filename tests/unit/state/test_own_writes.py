"""What is known of a cluster's commits however they come, and which are ours: by value, in order, once each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.commits import acknowledge, commit, commit_logs, known, state, take_in
from fakes.clusters import CommitRecord, to_records
from generators.hypothesis_strategies import law
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.own_writes import OwnWrites

MOST_PENDING = 64
values = st.lists(st.integers(0, 3), max_size=8)


def claimed(own_writes: OwnWrites, offsets: Sequence[int], key: int = 0) -> list[bool]:
    """Return which records of one key are ours, as its log brings them."""
    return own_writes.claim(np.full(len(offsets), key), np.array(offsets, np.int64)).tolist()


def written(*offsets: int, key: int = 0) -> OwnWrites:
    own_writes = OwnWrites()
    own_writes.begin(np.full(len(offsets), key), np.array(offsets, np.int64))
    return own_writes


def by_every_choice(pending: Sequence[int], log: Sequence[int]) -> list[bool]:
    """Return which records are ours, where each takes the first write of its value after all that were matched."""
    found, first = [], 0
    for offset in log:
        at = next((n for n in range(first, len(pending)) if pending[n] == offset), None)
        found.append(at is not None)
        first = first if at is None else at + 1
    return found


# The ledger by itself


@law(300)
@given(values, values, st.lists(st.integers(0, 8), max_size=3))
def test_each_write_matches_at_most_one_record_and_in_order_wherever_batches_end(
    pending: list[int], log: list[int], borders: list[int]
) -> None:
    own_writes, found, ends = written(*pending), list[bool](), sorted({0, *borders, len(log)})
    for first, end in itertools.pairwise(ends):
        found += claimed(own_writes, log[first:end])
    assert found == by_every_choice(pending, log)
    assert sum(found) <= len(pending)


class Ledger:
    """The same, write by write: the writes of each key in their order, as ``[value, is in doubt, is inherited]``."""

    def __init__(self) -> None:
        self.of: dict[int, list[list[int]]] = {0: [], 1: []}

    def last(self, key: int, value: int) -> list[int] | None:
        return next((each for each in reversed(self.of[key]) if each[0] == value), None)

    def without(self, key: int, gone: list[int] | None) -> None:
        self.of[key] = [each for each in self.of[key] if each is not gone]

    def begin(self, key: int, value: int) -> None:
        self.of[key].append([value, False, False])

    def resolve(self, key: int, held: int) -> None:
        self.of[key] = [[value, False, own] for value, doubted, own in self.of[key] if not doubted or value == held]

    def note_held(self, key: int, held: int) -> None:
        same = self.last(key, held)
        self.of[key] = [same] if same else [each for each in self.of[key] if each[1]]

    def doubt(self, key: int, value: int) -> None:
        if (last := self.last(key, value)) is not None:
            before = [each for each in self.of[key] if each is not last]
            is_retry = any(doubted and held == value for held, doubted, _ in before)
            self.without(key, last) if is_retry else last.__setitem__(1, True)

    def abort(self, key: int, value: int) -> None:
        self.without(key, self.last(key, value))

    def claim(self, key: int, value: int) -> bool:
        number = next((number for number, each in enumerate(self.of[key]) if each[0] == value), None)
        if number is None:
            return False
        (_, is_in_doubt, _), *rest = self.of[key][number:]
        while is_in_doubt and any(later[0] == value for later in rest):
            rest = rest[1:]
        self.of[key] = rest
        return True


pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=4)
kinds = st.sampled_from(
    ["begin", "begin", "doubt", "resolve", "note_held", "doubt", "abort", "claim", "inherit", "drop"]
)
calls = st.tuples(kinds, pairs)


@law(500)
@given(st.lists(calls, min_size=12, max_size=24))
def test_whatever_happens_to_writes_those_pending_are_those_of_a_ledger_kept_write_by_write(
    history: list[tuple[str, list[tuple[int, int]]]],
) -> None:
    own_writes, ledger = OwnWrites(), Ledger()
    everything = np.divmod(np.arange(4), 2)
    for call, pairs in [*history, ("claim", [divmod(number // 2, 2) for number in range(8)])]:
        keys, values = (np.array([pair[n] for pair in pairs], np.int64) for n in range(2))
        if call == "inherit":
            for key, value in pairs:
                own_writes.inherit(key, [ABSENT, value])
                ledger.of[key].insert(0, [value, False, True])
        elif call == "drop":
            own_writes.drop_inherited(keys.tolist() or None)
            for key in keys.tolist() or (0, 1):
                ledger.of[key] = [each for each in ledger.of[key] if not each[2]]
        else:
            found = getattr(own_writes, call)(keys, values)
            expected = [getattr(ledger, call)(*pair) for pair in pairs]
            assert found is None or (found.dtype, found.tolist()) == (np.bool_, expected)
        found = own_writes.is_pending(*everything)
        expected = [ledger.last(key, value) is not None for key, value in zip(*everything)]
        assert (found.dtype, found.tolist()) == (np.bool_, expected)


def test_writes_that_are_never_read_back_are_forgotten_in_the_end() -> None:
    own_writes = written(*range(1000))
    assert claimed(own_writes, [0, 1000 - MOST_PENDING - 1, 1000 - MOST_PENDING, 999]) == [False, False, True, True]


# In the light of a cluster's log


def model(log: list[CommitRecord], written: list[int]) -> dict[str, object]:
    """What is known of one key, record by record; of what its cluster holds only where we have written nothing."""
    positions = [record for record in log if record.offset is not None and record.offset >= 0]
    is_own = by_every_choice(written, [record.offset or 0 for record in positions])
    before, genuine, rewound = -1, (-1, -1), -1
    for record, is_ours in zip(positions, is_own, strict=True):
        offset = record.offset or 0
        if not is_ours:
            genuine = (offset, record.at_ms)
            rewound = record.at_ms if offset < before else rewound
        before = offset
    found: dict[str, object] = {"genuine_offset": genuine[0], "genuine_at_ms": genuine[1], "rewound_ms": rewound}
    if log and not written:
        last = log[-1].offset
        found |= {"actual_offset": -1 if last is None else max(last, -1), "is_deleted": last is None}
        found |= {"actual_at_ms": log[-1].at_ms, "actual_is_own": False, "log_offset": log[-1].at_ms}
        found |= {"topic_id": positions[-1].topic_id if positions else None}
    return found


@law(300)
@given(commit_logs, st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([3, 4, 5])), max_size=4))
def test_what_is_genuine_is_what_remains_when_our_writes_are_taken_out(
    log: list[CommitRecord], written: list[tuple[str, int]]
) -> None:
    committed = CommittedOffsets(["X", "Y"])
    committed.ids([(group, "orders", 0) for group in "ab"])
    for group, offset in written:
        acknowledge(committed, offset, group=group)
    take_in(committed, *log)
    for (group, _, _), found in state(committed).items():
        wanted = model([each for each in log if each.group_id == group], [at for of, at in written if of == group])
        assert found | wanted == found
    assert {each["genuine_at_ms"] for each in state(committed, "Y").values()} == {-1}


def test_of_rewinds_the_newest_time_counts_for_clocks_of_coordinators_differ() -> None:
    for batches in ([[8, 3, 9, 4]], [[8, 3], [9, 4]]):
        committed, first, times = CommittedOffsets(["X"]), 0, iter([10, 40, 20, 30])
        for batch in batches:
            take_in(committed, *(commit(offset, next(times)) for offset in batch), first=first)
            first += len(batch)
        assert known(committed)["rewound_ms"] == 40, batches


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


@pytest.mark.parametrize("is_in_one_batch", [True, False])
def test_a_commit_that_repeats_an_older_one_is_not_in_doubt_at_a_start(is_in_one_batch: bool) -> None:
    """Only the group writes an offset that is there already; if it was deleted in between, a driver may have."""
    records = [commit(5, 1), commit(5, 30_001), commit(5, 60_002), commit(None, 60_003), commit(5, 90_004)]
    committed = CommittedOffsets(["X"])
    key = int(committed.ids([GroupPartition("g", "orders", 0)])[0])
    found: list[bool] = []
    for batch in [records] if is_in_one_batch else [[each] for each in records]:
        taken = to_records(batch, [key] * len(batch), len(found))
        found += committed.clusters["X"].record(taken, is_starting=True).is_doubtful.tolist()
    assert found == [True, True, False, False, True]


def test_an_unrecorded_write_that_was_recognised_ends_the_recorded_ones_before_it() -> None:
    """Compaction has removed the record of the earlier write; the group is started at its offset."""
    committed = CommittedOffsets(["X"])
    (key,) = committed.ids([GroupPartition("g", "orders", 0)]).tolist()
    cluster = committed.clusters["X"]
    cluster.own_writes.inherit(key, [4])
    records = to_records([commit(9, 1)], [key], 0)
    assert cluster.record(records, is_starting=True).is_doubtful.tolist() == [True]
    cluster.settle(records, np.array([True]))
    assert cluster.record(to_records([commit(4, 2)], [key], 1)).is_own.tolist() == [False]
