"""What stands of one key at one cluster, as far as its log was read."""

from __future__ import annotations

from typing import NamedTuple

from offset_sync.state.committed_offsets import ClusterOffsets


class Standing(NamedTuple):
    """What the coordinator holds, ABSENT for nothing, and the group's own last word there; named as the columns."""

    log_offset: int
    actual_offset: int
    actual_at_ms: int
    actual_is_own: bool
    genuine_offset: int


def standing_of(commits: ClusterOffsets, key: int) -> Standing:
    """Return what stands of the row *key*."""
    return Standing(*(commits.columns[name][key].item() for name in Standing._fields))
