"""What is known of groups beside their offsets, kept for streams that are met later too."""

from __future__ import annotations

import numpy as np

from offset_sync.model.values import GroupPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.group_homes import GroupHomes
from offset_sync.state.key_index import KeyIndex


def is_any(_name: str) -> bool:
    return True


def test_members_count_for_a_topic_of_which_the_log_tells_only_later() -> None:
    offsets = CommittedOffsets(["X", "Y"])
    homes = GroupHomes(["X", "Y"], KeyIndex(offsets, is_any, is_any), 300_000)
    homes.note_members("X", {"g"}, 990_000)
    row = offsets.ids([GroupPartition("g", "orders", 0)])
    homes.note_commits("X", row, np.array([1_000]))
    homes.note_commits("Y", row, np.array([2_000]))
    found = homes.of(row, 1_000_000)
    assert (found.home.tolist(), found.is_contested.tolist()) == ([0], [False])
