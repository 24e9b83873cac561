"""Which partition of ``__consumer_offsets`` a group's coordinator leads, and what follows for the order of commits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.clusters import CommitRecord, to_records
from fakes.reconciler_site import ORDERS
from generators.hypothesis_strategies import law
from offset_sync.decode.consumer_offsets import coordinator_hashes, coordinator_partition
from offset_sync.state.committed_offsets import CommitRecords, CommittedOffsets

GROUP = "g"
"""Of one partition it is in 0, of two in 1."""


@pytest.mark.parametrize(
    ("group_id", "code"),
    # Java's "…".hashCode(); the last one is Integer.MIN_VALUE, which has no positive counterpart.
    [
        ("", 0),
        ("a", 97),
        ("orders", -1008770331),
        ("größe", 98762257),
        ("😀", 1772899),
        ("polygenelubricants", -(2**31)),
    ],
)
def test_the_hash_of_a_group_is_javas(group_id: str, code: int) -> None:
    assert coordinator_hashes([group_id])[0] == (0 if code == -(2**31) else abs(code))


@pytest.mark.parametrize(("group_id", "partition"), [("my-group", 12), ("grüße-組", 4), ("g848", 7), ("😀", 49)])
def test_of_fifty_partitions_a_broker_has_chosen_these(group_id: str, partition: int) -> None:
    assert coordinator_partition(group_id, 50) == partition


def by_definition(group_id: str) -> int:
    """Return the hash unit by unit: 31 times the one before, in 32 bits."""
    raw, code = group_id.encode("utf-16-le", "surrogatepass"), 0
    for place in range(0, len(raw), 2):
        code = (31 * code + int.from_bytes(raw[place : place + 2], "little")) & 0xFFFF_FFFF
    code -= (code >> 31) << 32
    return 0 if code == -(2**31) else abs(code)


@law(200)
@given(st.lists(st.text(max_size=12) | st.text("\ud800\udfff\uffffz", max_size=40), max_size=6))
def test_many_groups_at_once_have_the_hashes_that_each_has(groups: list[str]) -> None:
    assert coordinator_hashes(groups).tolist() == [by_definition(each) for each in groups]


# The order of commits, where partitions were added


def records(committed: CommittedOffsets, *commits: tuple[int, int, int, int]) -> CommitRecords:
    """Return commits of the group: partition and offset in the log, committed offset, and when it was made."""
    key = committed.ids([(GROUP, *ORDERS)] * len(commits)).tolist()
    rows = [
        CommitRecord(GROUP, ORDERS, offset, at_ms, log_partition=partition) for partition, _, offset, at_ms in commits
    ]
    return replace(to_records(rows, key, 0), log_offset=np.array([each[1] for each in commits]))


OLD = [(0, number, 300, 1 + number) for number in range(4)]
NEW = (1, 0, 10, 9)


@pytest.mark.parametrize("is_told", [False, True], ids=["read", "told by another process"])
@pytest.mark.parametrize(
    "batches",
    [[[*OLD, NEW]], [OLD, [NEW]], [[NEW, *OLD]], [[NEW], OLD], [OLD[:2], [NEW], OLD[2:]], [OLD, [NEW], OLD, [NEW]]],
)
def test_what_a_group_commits_in_the_partition_of_now_is_newer_than_all_in_others(
    batches: list[list[tuple[int, int, int, int]]], is_told: bool
) -> None:
    committed = CommittedOffsets(["X"])
    cluster = committed.clusters["X"]
    cluster.partitions = 2
    for batch in batches:
        taken = records(committed, *batch)
        if is_told:
            cluster.record_known(taken, np.zeros(len(batch), np.bool_))
        else:
            cluster.record(taken)
    names = ("log_partition", "log_offset", "actual_offset", "genuine_offset")
    assert [int(cluster.columns[name][0]) for name in names] == [1, 0, 10, 10]
    assert int(cluster.columns["rewound_ms"][0]) == (-1 if batches[0] == [NEW] else 9), "as far as it came in order"


@pytest.mark.parametrize("batches", [[[(0, 0, 300, 1), (1, 0, 10, 2)]], [[(0, 0, 300, 1)], [(1, 0, 10, 2)]]])
def test_a_write_of_ours_before_the_coordinator_moved_is_ours_and_the_commit_after_it_the_groups(
    batches: list[list[tuple[int, int, int, int]]],
) -> None:
    committed = CommittedOffsets(["X"])
    cluster = committed.clusters["X"]
    cluster.partitions = 2
    cluster.own_writes.begin(committed.ids([(GROUP, *ORDERS)]), np.array([300]))
    is_own = [each for batch in batches for each in cluster.record(records(committed, *batch)).is_own.tolist()]
    assert is_own == [True, False]


@pytest.mark.parametrize("is_told", [False, True], ids=["read", "told by another process"])
def test_a_write_of_ours_in_a_partition_that_was_left_is_ours_though_it_is_read_last(is_told: bool) -> None:
    committed = CommittedOffsets(["X"])
    cluster = committed.clusters["X"]
    cluster.partitions = 2
    cluster.record(records(committed, NEW))
    cluster.own_writes.begin(committed.ids([(GROUP, *ORDERS)]), np.array([300]))
    late = records(committed, (0, 0, 300, 1))
    if is_told:
        cluster.record_known(late, np.array([True]))
    else:
        assert cluster.record(late).is_own.tolist() == [True]
    assert int(cluster.columns["actual_offset"][0]) == 10
    again = cluster.record(records(committed, (1, 1, 300, 20))).is_own.tolist()
    assert again == [False], "a write matches one record"


def test_where_the_number_of_partitions_is_not_known_the_later_commit_counts() -> None:
    committed = CommittedOffsets(["X"])
    cluster = committed.clusters["X"]
    cluster.record(records(committed, *OLD))
    cluster.record(records(committed, NEW))
    cluster.record(records(committed, (0, 7, 300, 8)))
    assert int(cluster.columns["actual_offset"][0]) == 10
