"""Committed offsets: present ones, rewinds, and that neither repetition nor batch borders change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.commits import acknowledge, commit, commit_logs, known, state, take_in
from fakes.clusters import CommitRecord, to_records
from generators.hypothesis_strategies import law
from offset_sync.model.values import GroupPartition, TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.key_index import KeyIndex


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


Key = tuple[str, str, int]
keys = st.tuples(st.sampled_from("abc"), st.sampled_from(["orders", "pay", "off"]), st.integers(0, 2))


@law(200)
@given(st.lists(st.lists(keys, max_size=6), max_size=4))
def test_keys_are_found_by_partition_however_the_book_grew(batches: list[list[Key]]) -> None:
    committed = CommittedOffsets(["X"])
    places = KeyIndex(committed, lambda group_id: group_id != "c", lambda topic: topic != "off")
    for batch in batches:
        committed.ids(batch)
        everything = np.arange(len(committed.keys))
        included = places.is_included(everything)
        assert included.tolist() == [group_id != "c" and topic != "off" for group_id, topic, _ in committed.keys]
        chosen = places.by_partition(everything[included])
        found = {}
        for place, rows in places.slices(chosen):
            assert place not in found
            found[place] = {committed.keys[key] for key in chosen[rows].tolist()}
        wanted: dict[TopicPartition, set[Key]] = {}
        for group_id, topic, partition in committed.keys:
            if group_id != "c" and topic != "off":
                wanted.setdefault(TopicPartition(topic, partition), set()).add((group_id, topic, partition))
        assert found == wanted
        assert set(places.partitions_of(chosen)) == set(wanted)
        for place in wanted:
            every = {key for key in committed.keys if key[1:] == (place.topic, place.partition)}
            assert {committed.keys[key] for key in places.keys_in(place).tolist()} == every


def test_an_empty_group_id_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    committed = CommittedOffsets(["X"])
    places = KeyIndex(committed, lambda group_id: group_id != "", lambda topic: True)
    for partition in range(3):
        committed.ids([(group, "orders", partition) for group in ("", "a")])
        places.is_included(np.arange(len(committed.keys)))
    assert [line.split(":")[0] for line in caplog.messages] == ["offsets committed with an empty group id are left out"]


def test_a_commit_that_was_in_doubt_does_not_replace_a_later_one_that_was_not() -> None:
    committed = CommittedOffsets(["X"])
    key = committed.ids([GroupPartition("g", "orders", 0)])
    records = to_records([commit(5, 1), commit(5, 60_002)], [*key, *key], 0)
    assert committed.clusters["X"].record(records, is_starting=True).is_doubtful.tolist() == [True, False]
    committed.clusters["X"].settle(records.take(np.array([0])), np.array([False]))
    assert (known(committed)["genuine_at_ms"], committed.clusters["X"].columns["first_ms"][0]) == (60_002, 1)


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
