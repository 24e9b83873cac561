"""Our own commits: known by our tag or by the ledger of what we wrote, and never taken for a group's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.commits import acknowledge, commit, commit_logs, known, take_in
from fakes.clusters import CommitRecord, to_records
from generators.hypothesis_strategies import law
from offset_sync.model.values import GroupPartition
from offset_sync.state.committed_offsets import OWN_TAG, CommittedOffsets


def test_a_commit_with_our_tag_is_never_genuine() -> None:
    committed = CommittedOffsets(["X"])
    assert take_in(committed, commit(5, 1), commit(9, 2, metadata=OWN_TAG)) == [False, True]
    found = known(committed)
    assert (found["actual_offset"], found["actual_is_own"], found["genuine_offset"]) == (9, True, 5)


def test_a_write_with_the_sources_metadata_is_known_from_the_ledger() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 9, 1)
    assert known(committed)["actual_is_own"]
    assert take_in(committed, commit(9, 2, metadata="of the source")) == [True]
    assert known(committed)["genuine_at_ms"] == -1


def test_several_writes_that_are_read_later_are_all_known() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 9, 1)
    acknowledge(committed, 12, 2)
    acknowledge(committed, 15, 3)
    assert take_in(committed, commit(9, 1, metadata="m")) == [True]
    assert take_in(committed, commit(12, 2, metadata="m"), commit(15, 3, metadata="m"), first=1) == [True, True]
    assert (known(committed)["genuine_offset"], known(committed)["actual_offset"]) == (-1, 15)


@pytest.mark.parametrize(("made_s_before", "is_own"), [(61, [False, False, True]), (59, [True, False, False])])
def test_a_commit_that_was_made_long_before_our_write_is_not_ours_though_the_log_brings_it_later(
    made_s_before: int, is_own: list[bool]
) -> None:
    """The log could not be read while the group went from 9 to 12 there; then we wrote 9, with its metadata."""
    committed, begun_ms = CommittedOffsets(["X"]), 1_000_000
    key = committed.ids([GroupPartition("g", "orders", 0)])
    committed.clusters["X"].own_writes.begin(key, np.array([9]), begun_ms)
    at_ms = begun_ms - 1_000 * made_s_before
    commits = (commit(9, at_ms, metadata="m"), commit(12, at_ms + 1, metadata="m"), commit(9, begun_ms, metadata="m"))
    assert take_in(committed, *commits) == is_own


@pytest.mark.parametrize(("ahead_s", "made_s_before", "is_own"), [(120, 0, True), (120, 62, False), (-120, 0, True)])
def test_our_write_is_ours_however_far_ahead_of_the_clusters_our_clock_is(
    ahead_s: int, made_s_before: int, is_own: bool
) -> None:
    """A second passes between what the cluster says and our reading it, which tells how far the clocks differ."""
    committed, ahead_ms, begun_ms = CommittedOffsets(["X"]), 1_000 * ahead_s, 1_000_000
    key = committed.ids([GroupPartition("g", "orders", 0)])
    cluster = committed.clusters["X"]
    for number, at_ms in enumerate((begun_ms - 400_000, begun_ms - 2_000)):
        heard = to_records([commit(number, at_ms, metadata="m")], [0], number)
        cluster.record(heard, at_ms + 1_000 + ahead_ms)
    cluster.begin(key, np.array([9]), begun_ms + ahead_ms)
    made_ms = begun_ms - 1_000 * made_s_before
    assert take_in(committed, commit(9, made_ms, metadata="m"), first=2) == [is_own]


def test_a_group_that_commits_the_value_that_we_wrote_without_a_tag_cannot_be_told_from_us() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 9, 1)
    assert take_in(committed, commit(9, 1, metadata="m"), commit(9, 5), commit(9, 6)) == [True, True, True]


@pytest.mark.parametrize("is_acknowledged", [True, False])
def test_a_group_that_commits_our_tagged_value_was_started_there_wherever_the_batch_ends(is_acknowledged: bool) -> None:
    tagged, repeated = commit(9, 1, metadata=OWN_TAG), commit(9, 2)
    for batches in ([(tagged, repeated)], [(tagged,), (repeated,)]):
        committed = CommittedOffsets(["X"])
        if is_acknowledged:
            acknowledge(committed, 9, 1, is_tagged=True)
        first, is_own = 0, []
        for batch in batches:
            is_own += take_in(committed, *batch, first=first)
            first += len(batch)
        assert is_own == [True, False]
        assert (known(committed)["genuine_offset"], known(committed)["actual_is_own"]) == (9, False)


def test_what_a_consumer_committed_before_us_is_its_own_though_we_write_the_same() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 9, 2, is_tagged=True)
    assert take_in(committed, commit(9, 1), commit(9, 2, metadata=OWN_TAG)) == [False, True]


def test_a_group_that_goes_on_from_our_value_and_is_reset_to_it_is_followed() -> None:
    for batches in ([[9, 15, 9]], [[9], [15], [9]], [[9, 15], [9]]):
        committed = CommittedOffsets(["X"])
        acknowledge(committed, 9, 1)
        first, is_own = 0, []
        for batch in batches:
            is_own += take_in(committed, *(commit(offset, 10 + first) for offset in batch), first=first)
            first += len(batch)
        assert is_own == [True, False, False], batches
        assert (known(committed)["genuine_offset"], known(committed)["actual_is_own"]) == (9, False)
        assert known(committed)["rewound_at_ms"] >= 0


def test_a_commit_before_our_write_in_the_log_does_not_hide_that_the_write_is_ours() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 9, 2)
    assert take_in(committed, commit(5, 1), commit(9, 2, metadata="m")) == [False, True]
    assert known(committed)["genuine_offset"] == 5


def test_a_group_that_commits_our_value_after_it_was_deleted_is_genuine() -> None:
    committed = CommittedOffsets(["X"])
    acknowledge(committed, 9, 1)
    assert take_in(committed, commit(9, 1), commit(None, 2), commit(9, 3)) == [True, False, False]


def test_a_write_is_ours_only_where_and_for_whom_it_was_made() -> None:
    committed = CommittedOffsets(["X", "Y"])
    acknowledge(committed, 9, 1)
    assert take_in(committed, commit(9, 2), alias="Y") == [False]
    assert take_in(committed, commit(9, 2, group="other")) == [False]


def test_writes_that_are_never_read_back_are_forgotten_in_the_end() -> None:
    committed = CommittedOffsets(["X"])
    for offset in range(1000):
        acknowledge(committed, offset)
    assert take_in(committed, commit(0), commit(999)) == [False, True]


def test_what_a_cluster_acknowledged_stands_before_it_is_read() -> None:
    committed = CommittedOffsets(["X"])
    take_in(committed, commit(5, 1), commit(None, 2))
    acknowledge(committed, 9, 3)
    found = known(committed)
    assert (found["actual_offset"], found["actual_at_ms"], found["is_deleted"]) == (9, 3, False)


def model(log: list[CommitRecord], written: list[int]) -> tuple[int, int, int]:
    """The last genuine commit of one key, its time and that of the last rewind, record by record."""
    pending, held, genuine = list(written), None, (-1, -1, -1)
    for record in log:
        if record.offset is None or record.offset < 0:
            held = None
        elif record.offset in pending or record.metadata == OWN_TAG:
            held = None if record.metadata == OWN_TAG else record.offset
            pending = pending[pending.index(record.offset) + 1 :] if record.offset in pending else pending
        elif record.offset != held:
            held = None
            genuine = (record.offset, record.at_ms, record.at_ms if record.offset < genuine[0] else genuine[2])
    return genuine


@law(150)
@given(commit_logs, st.lists(st.sampled_from([3, 4, 5]), max_size=4))
def test_what_is_genuine_is_what_remains_when_our_writes_are_taken_out(
    log: list[CommitRecord], written: list[int]
) -> None:
    log = [replace(each, group_id="g") for each in log]
    committed = CommittedOffsets(["X"])
    committed.ids([("g", "orders", 0)])
    for offset in written:
        acknowledge(committed, offset)
    take_in(committed, *log)
    found = known(committed)
    assert (found["genuine_offset"], found["genuine_at_ms"], found["rewound_at_ms"]) == model(log, written)
