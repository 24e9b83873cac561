"""Which partition of ``__consumer_offsets`` a group's coordinator leads, and what follows for the order of commits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fakes.clusters import CommitRecord, to_records
from fakes.reconciler_site import ORDERS
from offset_sync.decode.consumer_offsets import coordinator_hashes, coordinator_partition
from offset_sync.state.committed_offsets import CommitRecords, CommittedOffsets

GROUP = "g"
"""Of one partition it is in 0, of two in 1."""


def test_groups_have_the_hashes_and_the_partitions_that_java_gives_them() -> None:
    # "…".hashCode(); the last one is Integer.MIN_VALUE, which has no positive counterpart.
    codes = {"": 0, "a": 97, "orders": -1008770331, "größe": 98762257, "😀": 1772899, "polygenelubricants": -(2**31)}
    assert coordinator_hashes([*codes]).tolist() == [0 if code == -(2**31) else abs(code) for code in codes.values()]
    assert coordinator_hashes(["\ud800z"]).tolist() == [31 * 0xD800 + ord("z")]
    chosen = {"my-group": 12, "grüße-組": 4, "g848": 7, "😀": 49}  # by a broker
    assert [coordinator_partition(group, 50) for group in chosen] == [*chosen.values()]


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
