"""Committed offsets: present ones, rewinds, and that neither repetition nor batch borders change them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.commits import acknowledge, commit, commit_logs, known, state, take_in
from fakes.clusters import CommitRecord, to_records
from generators.hypothesis_strategies import law
from offset_sync.model.values import GroupPartition
from offset_sync.state.committed_offsets import CommittedOffsets


def test_the_last_commit_is_present_and_counts() -> None:
    committed = CommittedOffsets(["X", "Y"])
    records = [commit(5, 1, metadata="m", topic_id="id"), commit(7, 2, metadata="n", topic_id="id")]
    assert take_in(committed, *records) == [False, False]
    assert known(committed) == {
        "actual_offset": 7,
        "actual_at_ms": 2,
        "actual_is_own": False,
        "genuine_offset": 7,
        "genuine_at_ms": 2,
        "rewound_ms": -1,
        "is_deleted": False,
        "log_offset": 1,
        "topic_id": "id",
    }
    assert known(committed, "Y")["genuine_at_ms"] == -1


def test_of_rewinds_the_newest_time_counts_for_clocks_of_coordinators_differ() -> None:
    for batches in ([[8, 3, 9, 4]], [[8, 3], [9, 4]]):
        committed, first, times = CommittedOffsets(["X"]), 0, iter([10, 40, 20, 30])
        for batch in batches:
            take_in(committed, *(commit(offset, next(times)) for offset in batch), first=first)
            first += len(batch)
        assert known(committed)["rewound_ms"] == 40, batches


def test_each_key_has_its_own_rewind() -> None:
    committed = CommittedOffsets(["X"])
    take_in(
        committed, commit(8, 1, group="a"), commit(2, 2, group="b"), commit(9, 3, group="a"), commit(3, 4, group="b")
    )
    assert [row["rewound_ms"] for row in state(committed).values()] == [-1, -1]


def test_a_tombstone_deletes_the_present_offset_but_not_the_genuine_one() -> None:
    committed = CommittedOffsets(["X"])
    take_in(committed, commit(5, 1), commit(None, 2))
    found = known(committed)
    assert (found["actual_offset"], found["is_deleted"], found["genuine_offset"]) == (-1, True, 5)
    take_in(committed, commit(6, 3), first=2)
    found = known(committed)
    assert (found["actual_offset"], found["is_deleted"], found["genuine_offset"]) == (6, False, 6)


def test_a_negative_offset_is_recorded_and_is_no_position() -> None:
    committed = CommittedOffsets(["X"])
    assert take_in(committed, commit(5, 1), commit(-7, 2)) == [False, False]
    found = known(committed)
    assert (found["actual_offset"], found["genuine_offset"], found["genuine_at_ms"]) == (-1, 5, 1)
    assert not found["is_deleted"]


def test_many_keys_at_once_take_their_own_records() -> None:
    committed = CommittedOffsets(["X"])
    take_in(committed, *(commit(n, n, group=f"g{n % 500}") for n in range(2000)))
    assert [row["genuine_offset"] for row in state(committed).values()] == [1500 + n for n in range(500)]


# Repetition


def test_a_record_read_again_is_still_known_as_ours() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 9, 1)
    log = [commit(4, 1), commit(9, 2)]
    assert take_in(committed, *log) == [False, True]
    assert take_in(committed, *log) == [False, True]


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


def test_of_writes_that_may_be_gone_what_was_read_last_is_believed_however_many_there_were() -> None:
    committed = CommittedOffsets(["X"])
    take_in(committed, commit(5, 1))
    acknowledge(committed, 7, 2)
    acknowledge(committed, 9, 3)
    committed.clusters["X"].forget_acknowledged()
    assert known(committed)["actual_offset"] == 5


def test_a_write_that_was_read_back_is_not_believed_to_be_gone() -> None:
    committed = CommittedOffsets(["X"])
    take_in(committed, commit(5, 1))
    acknowledge(committed, 7, 2)
    take_in(committed, commit(7, 2), first=1)
    committed.clusters["X"].forget_acknowledged()
    assert (known(committed)["actual_offset"], known(committed)["actual_is_own"]) == (7, True)


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
