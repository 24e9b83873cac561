"""The homes of groups by a state that was opened, and partitions that a group has never committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.cluster_metadata import MetadataByCluster
from offset_sync.state.key_index import KeyRows
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.status.cluster_queries import GroupAnswers, HeldOffsets

Row = dict[str, Any]


def groups_of(state: SyncState, rows: KeyRows) -> set[str]:
    """Return the groups of *rows*."""
    return {state.offsets.keys[row].group_id for row in rows.tolist()}


def take_in_unread(state: SyncState, homes: Mapping[str, KeyRows], held: HeldOffsets) -> None:
    """Count positions that are not captured at all, such as those that ``cutover`` committed at a new home."""
    for alias, rows in homes.items():
        with state.lock:
            cluster = state.offsets.clusters[alias]
            missing = rows[cluster.position(rows)[0] < 0]
            found = [held.at_source(alias, state.offsets.keys[row]).offset for row in missing.tolist()]
            there = np.array([ABSENT if offset is None else offset for offset in found], np.int64)
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


def note_uncommitted(rows: Sequence[Row], index: RecordIndex, held: HeldOffsets, metadata: MetadataByCluster) -> None:
    """Add the partitions of each row's topic, at either cluster, for which its group has an offset at neither.

    Partitions not known to exist are left out: for a cluster that does not answer the indexed ones count.
    """
    by_stream: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_stream.setdefault((row["group_id"], row["stream"]), []).append(row)
    for (group_id, stream), some in by_stream.items():
        source, target = some[0]["source_cluster"], some[0]["target_cluster"]
        committed = {row["partition"] for row in some}
        for answers in (held.as_source.get(source, {}), held.as_target.get(target, {})):
            if not isinstance(answer := answers.get(group_id, {}), ClusterError):
                committed |= {place.partition for place in answer if place.topic == stream}
        count = max(_partitions(index, alias, stream, metadata) for alias in (source, target))
        left = to_ranges(number for number in range(count) if number not in committed)
        for row in some:
            row["uncommitted"] = left or None


def to_ranges(numbers: Iterable[int]) -> str:
    """Return ascending *numbers* as ``1, 4-7``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join("-".join(map(str, each)) for each in found)


def from_ranges(text: str) -> list[int]:
    """Return the numbers that :func:`to_ranges` has written."""
    found: list[int] = []
    for each in text.split(", "):
        first, _, last = each.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _partitions(index: RecordIndex, alias: str, topic: str, metadata: MetadataByCluster) -> int:
    said = metadata.get(alias)
    known = None if said is None or isinstance(said, ClusterError) else said.topics.get(topic)
    return known.partitions if known is not None else index.partitions(alias, topic)
