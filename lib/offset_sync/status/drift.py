"""Convergence: f(t) - g(t), the offsets of a group at the source less those at the target.

While the sync works the two rise together and their difference hardly changes; when it is broken the difference grows
by all that the group reads. So its change over a window longer than any pause is the signal, not the value, which
depends on how the logs are filled::

    f - g    |      __/          change over the window   |      /^^^
             |_____/             (10 minutes by default)  |_____/
                  ^ the sync stops                             ^
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class PairPartition(NamedTuple):
    """A partition of a group between two clusters."""

    source: str
    target: str
    group_id: str
    topic: str
    partition: int


class Series(NamedTuple):
    """What a curve is of: a group between two clusters, or with ``group_id`` None all groups of the pair."""

    source: str
    target: str
    group_id: str | None


class Offsets(NamedTuple):
    """A group's offsets in one partition at both clusters."""

    source: int
    target: int


@dataclass(frozen=True)
class Drift:
    """One row of sync_drift but ``at``; *change* and *windowed_change* leave out partitions seen for the first time."""

    series: Series
    partitions: int
    source_offsets: int
    target_offsets: int
    change: int
    windowed_change: int
    is_converged: bool

    @property
    def drift(self) -> int:
        """The difference itself."""
        return self.source_offsets - self.target_offsets


@dataclass
class DriftWindow:
    """Keeps what was seen for *window_ms*; a group has converged within *threshold* records, a pair within its sum."""

    window_ms: int
    threshold: int
    _seen: dict[PairPartition, deque[tuple[int, int]]] = field(default_factory=dict)

    def add(self, at_ms: int, positions: Mapping[PairPartition, Offsets]) -> list[Drift]:
        """Take in the present offsets of all groups; return a row per group and one per pair, each pair's first."""
        changes: dict[Series, list[tuple[Offsets, int, int]]] = {}
        for partition, offsets in positions.items():
            last, windowed = self._changes(at_ms, partition, offsets.source - offsets.target)
            of_pair = Series(partition.source, partition.target, None)
            for series in (of_pair, of_pair._replace(group_id=partition.group_id)):
                changes.setdefault(series, []).append((offsets, last, windowed))
        for partition in self._seen.keys() - positions.keys():
            del self._seen[partition]
        groups: dict[tuple[str, str], int] = {}
        for pair in (series[:2] for series in changes if series.group_id is not None):
            groups[pair] = groups.get(pair, 0) + 1
        return [self._row(series, found, groups[series[:2]]) for series, found in sorted(changes.items(), key=_order)]

    def _changes(self, at_ms: int, partition: PairPartition, drift: int) -> tuple[int, int]:
        seen = self._seen.setdefault(partition, deque())
        before = seen[-1][1] if seen else drift
        seen.append((at_ms, drift))
        # The last one before the window stays: the change over the window is counted from there.
        while len(seen) > 2 and seen[1][0] <= at_ms - self.window_ms:
            seen.popleft()
        return drift - before, drift - seen[0][1]

    def _row(self, series: Series, found: Sequence[tuple[Offsets, int, int]], groups: int) -> Drift:
        windowed = sum(each for _, _, each in found)
        allowed = self.threshold * (groups if series.group_id is None else 1)
        return Drift(
            series=series,
            partitions=len(found),
            source_offsets=sum(offsets.source for offsets, _, _ in found),
            target_offsets=sum(offsets.target for offsets, _, _ in found),
            change=sum(each for _, each, _ in found),
            windowed_change=windowed,
            is_converged=abs(windowed) <= allowed,
        )


def _order(item: tuple[Series, object]) -> tuple[str, str, str]:
    source, target, group_id = item[0]
    return source, target, "" if group_id is None else f" {group_id}"
