"""Which keys are over: what is left of a group that is gone is forgotten, and nothing else is."""

from __future__ import annotations

import pytest

from offset_sync.model.values import GroupPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.last_known import COMMITS_SCHEMA, KEPT_MS, is_over, to_rows, without

NOW_MS = 1_800_000_000_000
LONG_AGO_MS = NOW_MS - KEPT_MS - 1
DELETED = {"genuine_offset": 5, "genuine_at_ms": LONG_AGO_MS, "actual_at_ms": LONG_AGO_MS, "is_deleted": True}
KEY, OTHER = GroupPartition("g", "orders", 0), GroupPartition("other", "orders", 0)


def offsets_with(read_until_ms: dict[str, int], **by_cluster: dict[str, int | bool]) -> CommittedOffsets:
    """One key, of which clusters know this, and another one that tells up to when each was read."""
    offsets = CommittedOffsets(["X", "Y"])
    offsets.ids([KEY, OTHER])
    for alias, known in by_cluster.items():
        for name, value in known.items():
            offsets.clusters[alias].columns[name][0] = value
    for alias, at_ms in read_until_ms.items():
        offsets.clusters[alias].columns["actual_at_ms"][1] = at_ms
        offsets.clusters[alias].columns["actual_offset"][1] = 1
    return offsets


BOTH = {"X": NOW_MS, "Y": NOW_MS}


def test_a_key_that_was_deleted_everywhere_long_ago_is_over() -> None:
    offsets = offsets_with(BOTH, X=DELETED, Y=DELETED)
    assert is_over(offsets).tolist() == [True, False]
    left = without(to_rows(offsets), [KEY])
    assert left.schema == COMMITS_SCHEMA
    assert sorted(left["cluster"].to_pylist()) == ["X", "Y"]
    assert {*left["group_id"].to_pylist()} == {"other"}


@pytest.mark.parametrize(
    "at_y",
    [
        DELETED | {"actual_at_ms": LONG_AGO_MS + 1},
        DELETED | {"genuine_at_ms": LONG_AGO_MS + 1},
        {"actual_offset": 0, "actual_at_ms": LONG_AGO_MS, "actual_is_own": True},
        DELETED | {"is_deleted": False},
    ],
    ids=["deleted since", "committed since", "present elsewhere", "gone with its log, and never deleted"],
)
def test_a_key_is_kept_while_it_may_be_asked_for(at_y: dict[str, int | bool]) -> None:
    assert not is_over(offsets_with(BOTH, X=DELETED, Y=at_y)).any()


@pytest.mark.parametrize("read_until_ms", [{"X": NOW_MS}, {"X": NOW_MS, "Y": NOW_MS - 1}], ids=["never", "not so far"])
def test_a_key_is_kept_until_every_cluster_was_read_for_as_long(read_until_ms: dict[str, int]) -> None:
    assert not is_over(offsets_with(read_until_ms, X=DELETED)).any()


def test_without_keys_nothing_is_over() -> None:
    assert is_over(CommittedOffsets(["X", "Y"])).tolist() == []
