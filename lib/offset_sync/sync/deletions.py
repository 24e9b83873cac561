"""Policy ``deletes: follow``: what the owner has deleted is deleted at the targets, if it is ours.

Errs to keeping: somebody else's value stays, and so does one of a group that has members at the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from offset_sync.kafka.error_codes import UNREACHABLE
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.committed_offsets import owners
from offset_sync.state.fence import Fence
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState


class OffsetDeleter(Protocol):
    """A target, see :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, str | None] | ClusterError:
        """Delete them; return per partition None or the error."""


class FencedDeleter:
    """Deletes at *target* as long as *fence* is open; renewing it raises TakenOverError for a driver that is over."""

    def __init__(self, target: OffsetDeleter, fence: Fence) -> None:
        self._target, self._fence = target, fence

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, str | None] | ClusterError:
        """Delete them; return per partition None or the error."""
        self._fence.renew()
        return self._target.delete_offsets(group_id, partitions)


def deleted_at_owner(state: SyncState, source: str, target: str) -> dict[str, dict[TopicPartition, int]]:
    """Return, per group, the partitions that *source* owned and deleted while our own offset stands at *target*."""
    offsets = state.offsets
    with state.lock:
        mine, there = offsets.clusters[source].columns, offsets.clusters[target].columns
        is_owner = owners(offsets.column("genuine_at_ms")) == list(offsets.clusters).index(source)
        is_ours = there["actual_is_own"] & (there["actual_offset"] >= 0)
        rows: KeyRows = np.flatnonzero(is_owner & mine["is_deleted"] & is_ours)
        # Another cluster may have a newer commit that could not be read yet: then nothing was deleted.
        rows = rows[state.unread.may_count(source, rows, np.zeros(len(rows), np.bool_))]
        by_group: dict[str, dict[TopicPartition, int]] = {}
        for row in rows.tolist():
            key = offsets.keys[row]
            by_group.setdefault(key.group_id, {})[key.topic_partition] = row
        return by_group


def follow_deletions(state: SyncState, targets: Mapping[str, OffsetDeleter]) -> list[str]:
    """Delete what owners have deleted; return one line per group for which that could not be done.

    A target that is silent is not asked for its other groups as well: each would wait for it, and the next pass comes.
    """
    failures = []
    for source, target in state.last_translations:
        for group_id, partitions in deleted_at_owner(state, source, target).items():
            errors = targets[target].delete_offsets(group_id, partitions)
            if isinstance(errors, ClusterError):
                failures.append(f"{source} to {target}: {group_id} not deleted: {errors}")
                continue
            done = [row for partition, row in partitions.items() if errors.get(partition) is None]
            with state.lock:
                state.offsets.clusters[target].deleted(np.array(done, np.intp))
            left = sorted({error for error in errors.values() if error is not None})
            if left:
                failures.append(f"{source} to {target}: {group_id} not deleted: {', '.join(left)}")
            if not UNREACHABLE.isdisjoint(left):
                break
    return failures
