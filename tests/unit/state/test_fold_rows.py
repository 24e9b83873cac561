"""Which keys are over: what is left of a group that is gone is forgotten, and nothing else is."""

from __future__ import annotations

import pytest

from offset_sync.model.values import GroupPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.fold_rows import COMMITS_SCHEMA, KEPT_MS, is_over, to_rows

NOW_MS = 1_800_000_000_000
LONG_AGO_MS = NOW_MS - KEPT_MS - 1
DELETED = {"genuine_offset": 5, "genuine_at_ms": LONG_AGO_MS, "actual_at_ms": LONG_AGO_MS, "is_deleted": True}


def offsets_with(**by_cluster: dict[str, int | bool]) -> CommittedOffsets:
    """One key, of which clusters know this."""
    offsets = CommittedOffsets(["X", "Y"])
    offsets.ids([GroupPartition("g", "orders", 0)])
    for alias, known in by_cluster.items():
        for name, value in known.items():
            offsets.clusters[alias].columns[name][0] = value
    return offsets


def test_a_key_that_was_deleted_everywhere_long_ago_is_over() -> None:
    offsets = offsets_with(X=DELETED, Y=DELETED)
    assert is_over(offsets, NOW_MS).tolist() == [True]
    assert to_rows(offsets, ~is_over(offsets, NOW_MS)) == COMMITS_SCHEMA.empty_table()


@pytest.mark.parametrize(
    "at_y",
    [
        DELETED | {"actual_at_ms": LONG_AGO_MS + 1},
        DELETED | {"genuine_at_ms": LONG_AGO_MS + 1},
        {"actual_offset": 0, "actual_at_ms": LONG_AGO_MS, "actual_is_own": True},
        DELETED | {"is_deleted": False},
    ],
    ids=["deleted since", "committed since", "stands elsewhere", "gone with its log, and never deleted"],
)
def test_a_key_is_kept_while_it_may_be_asked_for(at_y: dict[str, int | bool]) -> None:
    assert is_over(offsets_with(X=DELETED, Y=at_y), NOW_MS).tolist() == [False]


def test_without_keys_nothing_is_over() -> None:
    assert is_over(CommittedOffsets(["X", "Y"]), NOW_MS).tolist() == []
