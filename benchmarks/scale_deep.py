"""Groups that lag by any number of records: what they commit, and how their answers are judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from latency_logs import STEADY
from scale_index import Blocks, Int64s

from offset_sync.model.values import OffsetWrite

DEEP = "deep-"
Commits = Mapping[tuple[str, int], tuple[np.ndarray, np.ndarray]]
"""Offsets and broker times, ms, of every commit by (group, partition), in log order."""


def deep_name(group: int) -> str:
    """Return the name of a group."""
    return f"{DEEP}{group}"


def deep_offsets(logs: Sequence[Blocks], groups: int, above: Int64s | None = None) -> Int64s:
    """Return random offsets, shape (groups, partitions), anywhere in the logs or *above* others."""
    end = np.array([blocks.end for blocks in logs])
    low = np.zeros((groups, len(logs)), np.int64) if above is None else above + 1
    return np.random.default_rng(len(logs) if above is None else 0).integers(low, end + 1)


def deep_batch(groups: Iterable[int], offsets: Int64s) -> dict[str, list[OffsetWrite]]:
    """Return what *groups* commit of *offsets*, shape (all groups, partitions)."""
    return {
        deep_name(group): [
            OffsetWrite(deep_name(group), STEADY, partition, offset, None, None)
            for partition, offset in enumerate(offsets[group].tolist())
        ]
        for group in groups
    }


def reached_at(target: Commits, group: str, wanted: Int64s) -> int | None:
    """Return when *group* was, in ms, at *wanted* in all partitions, shape (partitions,); None: not yet."""
    found = []
    for partition, offset in enumerate(wanted.tolist()):
        offsets, times = target.get((group, partition), _NONE)
        row = int(np.searchsorted(np.maximum.accumulate(offsets), offset))
        if row == len(offsets):
            return None
        found.append(int(times[row]))
    return max(found)


def deep_waits(logs: Sequence[Blocks], source: Commits, target: Commits, since_ms: int) -> tuple[Int64s, int]:
    """Return how long the target took to be as far as is right, in ms, for groups that lag, and how many are not."""
    waits, unanswered = [], 0
    for (group, partition), (offsets, times) in source.items():
        if not group.startswith(DEEP):
            continue
        there, there_ms = target.get((group, partition), _NONE)
        counted = times >= since_ms
        row = np.searchsorted(np.maximum.accumulate(there), logs[partition].target_of(offsets[counted]))
        is_there = row < len(there)
        unanswered += int(np.count_nonzero(~is_there))
        waits.append(there_ms[row[is_there]] - times[counted][is_there])
    return np.concatenate(waits), unanswered


def compare(logs: Sequence[Blocks], source: Commits, target: Commits) -> tuple[int, int]:
    """Return how many positions at the target are ahead of what is right, ever, and how many are behind at the end."""
    ahead = behind = 0
    for key, (offsets, _) in source.items():
        right = int(logs[key[1]].target_of(offsets[-1:])[0])
        there, _ = target.get(key, _NONE)
        ahead += int(there.max(initial=0)) > right
        behind += len(there) == 0 or int(there[-1]) < right
    return ahead, behind


_NONE = (np.empty(0, np.int64), np.empty(0, np.int64))
