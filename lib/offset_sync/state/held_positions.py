"""What clusters say of groups: members, and positions that no table has, which a state without a driver takes in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.cluster_queries import GroupAnswers
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState


def groups_of(state: SyncState, rows: KeyRows) -> set[str]:
    """Return the groups of *rows*."""
    return {state.offsets.keys[row].group_id for row in rows.tolist()}


def note_members(state: SyncState, listed: Mapping[str, Mapping[str, bool] | ClusterError]) -> None:
    """Note which groups have members, by what each cluster lists, see :meth:`ClusterAdmin.groups`; an error: unknown.

    librdkafka (2.16) lists no group whose protocol type is not "consumer": streams groups (KIP-1071), share groups
    (KIP-932), Connect's workers. Whether such a group has members is unknown; a broker refuses our commit while it has.
    """
    for alias, found in listed.items():
        active = None if isinstance(found, ClusterError) else {group for group in found if found[group]}
        with state.lock:
            state.homes.note_members(alias, active, state.now_ms())


def take_in_unread(state: SyncState, homes: Mapping[str, KeyRows], answers: Mapping[str, GroupAnswers]) -> None:
    """Count positions that are not captured at all, such as those that ``cutover`` committed at a new home.

    *homes* has the rows at home at each cluster, *answers* what its coordinators hold.
    """
    for alias, rows in homes.items():
        with state.lock:
            cluster = state.offsets.clusters[alias]
            missing = rows[cluster.position(rows)[0] < 0]
            keys = [state.offsets.keys[row] for row in missing.tolist()]
            there = np.array([_offset(answers.get(alias, {}), key) for key in keys], np.int64)
            is_there = there != ABSENT
            cluster.own_writes.begin(missing[is_there], there[is_there])
            cluster.acknowledge(missing[is_there], there[is_there], state.now_ms())


def take_in_untold(state: SyncState, answers: Mapping[str, GroupAnswers]) -> None:
    """Count what coordinators hold of keys that no table has, by cluster; it may be of any age."""
    offsets = {
        alias: {
            GroupPartition(group_id, *place): held.offset
            for group_id, answer in by_group.items()
            if not isinstance(answer, ClusterError)
            for place, held in answer.items()
        }
        for alias, by_group in answers.items()
    }
    with state.lock:
        untold, now_ms = state.offsets.unknown(key for by_key in offsets.values() for key in by_key), state.now_ms()
        for alias, by_key in offsets.items():
            keys = sorted(untold & by_key.keys())
            rows, offset = state.offsets.ids(keys), np.array([by_key[key] for key in keys], np.int64)
            cluster = state.offsets.clusters[alias]
            cluster.own_writes.begin(rows, offset)
            cluster.acknowledge(rows, offset, now_ms)
            state.homes.note_commits(alias, rows, np.full(len(rows), now_ms), np.full(len(rows), ABSENT))


def _offset(answers: GroupAnswers, key: GroupPartition) -> int:
    answer = answers.get(key.group_id, {})
    if isinstance(answer, ClusterError) or key.topic_partition not in answer:
        return ABSENT
    return answer[key.topic_partition].offset
