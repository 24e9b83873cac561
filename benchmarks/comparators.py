"""The rules of other tools, as far as they are public, for the accuracy benchmark; nothing of the product uses them.

MirrorMaker 2: Apache Kafka 4.3, ``OffsetSyncWriter`` (when a sync is written), ``OffsetSyncStore`` (which 64 are kept,
and what they answer). Replicator: its consumers note the timestamp of what they have read, and its documentation says
that the target's ``offsetsForTimes`` is asked for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from workloads import ClusterLog

Ints = NDArray[np.int64]
NO_ANSWER = -1
_SLOTS = 64


def mirror_maker(committed: Ints, source: ClusterLog, target: ClusterLog, origin: int, offset_lag_max: int) -> Ints:
    """Return what MirrorMaker 2 translates each commit to, if it mirrored *origin*'s records to the target."""
    copies = np.flatnonzero(target.origin == origin)
    kept = _history(_emitted(target.origin_offset[copies], copies, offset_lag_max))
    if not kept:
        return np.full(len(committed), NO_ANSWER, np.int64)
    upstream, downstream = (np.array(column) for column in zip(*sorted(set(kept)), strict=True))
    row = np.searchsorted(upstream, committed, "right") - 1
    answer = downstream[np.maximum(row, 0)] + (committed > upstream[np.maximum(row, 0)])
    return np.where(row < 0, NO_ANSWER, answer)


def _emitted(upstream: Ints, downstream: Ints, offset_lag_max: int) -> list[tuple[int, int]]:
    """Return the syncs that are written: when the last one is stale, or the source skips an offset."""
    if len(upstream) == 0:
        return []
    skipped = np.concatenate(([True], np.diff(upstream) != 1)).tolist()
    syncs: list[tuple[int, int]] = []
    last = -1
    for up, down, is_skipped in zip(upstream.tolist(), downstream.tolist(), skipped, strict=True):
        if is_skipped or last == -1 or down - (last + 1) >= offset_lag_max:
            last = down
            syncs.append((up, down))
    newest = (int(upstream[-1]), int(downstream[-1]))
    # What waits is written with the next periodic offset commit.
    return syncs if syncs[-1] == newest else [*syncs, newest]


def _history(syncs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the syncs that are still there at the end: 64 slots, the distances growing with their age."""
    if not syncs:
        return []
    slots = [syncs[0]] * _SLOTS
    for sync in syncs:
        if sync[0] < slots[0][0]:
            slots = [sync] * _SLOTS
            continue
        _insert(slots, sync)
    return slots


def _insert(slots: list[tuple[int, int]], sync: tuple[int, int]) -> None:
    replacement, old = sync, slots[0]
    slots[0] = sync
    for current in range(1, _SLOTS):
        previous = current - 1
        is_last = current + 1 >= _SLOTS
        is_recent = _is_near_enough(slots[previous], old, previous, current)
        is_apart = _is_apart(slots[previous], old, previous) and (
            is_last or _is_apart(old, slots[current + 1], current)
        )
        if is_recent and is_apart:
            replacement = old
        if _is_near_enough(slots[previous], slots[current], previous, current):
            return
        old, slots[current] = slots[current], replacement


def _is_near_enough(one: tuple[int, int], other: tuple[int, int], i: int, j: int) -> bool:
    return one == other or one[0] <= other[0] + (1 << j) - (1 << i)


def _is_apart(one: tuple[int, int], other: tuple[int, int], i: int) -> bool:
    return one == other or one[0] >= other[0] + (1 << max(i - 2, 0))


def replicator(committed: Ints, source: ClusterLog, target: ClusterLog) -> Ints:
    """Return the target's first record that is not older than the last one read; its end where all are older."""
    greatest = np.maximum.accumulate(target.at_ms) if len(target.at_ms) else target.at_ms
    if len(source.at_ms) == 0:
        return np.zeros(len(committed), np.int64)
    last_read = source.at_ms[np.maximum(committed - 1, 0)]
    return np.where(committed == 0, 0, np.searchsorted(greatest, last_read, "left"))
