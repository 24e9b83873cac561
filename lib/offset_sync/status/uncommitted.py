"""Partitions of a group's topics that it has never committed: there it begins where its own options say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition
from offset_sync.state.snapshot import MetadataByCluster
from offset_sync.state.sync_state import SyncState
from offset_sync.status.held_offsets import HeldOffsets

GroupTopic: TypeAlias = "tuple[str, str]"
"""A group, and the stream of a topic that it commits."""


def uncommitted_partitions(
    state: SyncState,
    pair: tuple[str, str],
    keys: Iterable[GroupPartition],
    held: HeldOffsets,
    metadata: MetadataByCluster,
) -> dict[GroupTopic, list[int]]:
    """Return, of the groups and topics in *keys*, the partitions of either cluster that have an offset at neither.

    What is not known to be there is left out: of one that does not answer the partitions that are indexed count.
    *keys* are those of which *pair*'s source is the home; an offset counts by the coordinators or else by the tables.
    """
    source, target = pair
    known: dict[GroupTopic, set[int]] = {}
    for group_id, topic, partition in keys:
        known.setdefault((group_id, topic), set()).add(partition)
    answers = [held.as_source.get(source, {}), held.as_target.get(target, {})]
    found = {}
    for (group_id, topic), committed in known.items():
        count = max(_partitions(state, alias, topic, metadata) for alias in pair)
        if count <= len(committed):
            continue
        for each in (answer.get(group_id) for answer in answers):
            if each is not None and not isinstance(each, ClusterError):
                committed |= {place.partition for place in each if place.topic == topic}
        committed |= _captured(state, pair, group_id, topic, count)
        if left := [number for number in range(count) if number not in committed]:
            found[group_id, topic] = left
    return found


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


def _partitions(state: SyncState, alias: str, topic: str, metadata: MetadataByCluster) -> int:
    said = metadata.get(alias)
    known = None if said is None or isinstance(said, ClusterError) else said.topics.get(topic)
    return known.partitions if known is not None else state.index.partitions(alias, topic)


def _captured(state: SyncState, pair: tuple[str, str], group_id: str, topic: str, count: int) -> set[int]:
    """Return the partitions of which the tables have an offset at either cluster."""
    wanted = [GroupPartition(group_id, topic, number) for number in range(count)]
    with state.lock:
        unknown = state.offsets.unknown(wanted)
        known = [each for each in wanted if each not in unknown]
        rows = state.offsets.ids(known)
        is_there = [state.offsets.clusters[alias].columns["actual_offset"][rows] >= 0 for alias in pair]
    return {each.partition for each, *there in zip(known, *is_there, strict=True) if any(there)}
