"""Policy ``deletes: follow``: what the owner has deleted is deleted at the targets, if it is ours.

Errs to keeping: somebody else's value stays, and so does one of a group that has members at the target.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.state.ownership import owners

DeleteOffsets = Callable[[str, str, Iterable[TopicPartition]], "Mapping[TopicPartition, str | None] | ClusterError"]
"""Deletes at a target (alias, group, partitions); per partition None or the error."""


def deleted_at_owner(book: CommittedOffsets, source: str, target: str) -> KeyRows:
    """Return the keys whose offset *source*, their owner, has deleted while our own still stands at *target*."""
    mine, there = book.clusters[source].columns, book.clusters[target].columns
    is_owner = owners(book.column("genuine_at_ms")) == list(book.clusters).index(source)
    is_ours = there["actual_is_own"] & (there["actual_offset"] >= 0)
    return np.flatnonzero(is_owner & mine["is_deleted"] & is_ours)


def follow_deletions(
    book: CommittedOffsets, lock: threading.RLock, pairs: Iterable[tuple[str, str]], delete: DeleteOffsets
) -> list[str]:
    """Delete what owners have deleted; return one line per group for which that could not be done."""
    failures = []
    for source, target in pairs:
        with lock:
            by_group: dict[str, list[int]] = {}
            for key in deleted_at_owner(book, source, target).tolist():
                by_group.setdefault(book.keys[key][0], []).append(key)
        for group_id, keys in by_group.items():
            places = {TopicPartition(*book.keys[key][1:]): key for key in keys}
            errors = delete(target, group_id, places)
            if isinstance(errors, ClusterError):
                failures.append(f"{source} to {target}: {group_id} not deleted: {errors}")
                continue
            with lock:
                done = [key for place, key in places.items() if errors.get(place) is None]
                book.clusters[target].deleted(np.array(done, np.intp))
            left = sorted({error for error in errors.values() if error is not None})
            if left:
                failures.append(f"{source} to {target}: {group_id} not deleted: {', '.join(left)}")
    return failures
