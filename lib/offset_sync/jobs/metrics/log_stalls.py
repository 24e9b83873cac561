"""Logs that readers of committed records cannot get on with, and how far the index is behind. Clock passed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from offset_sync.model.values import TopicPartition


class Reach(Protocol):
    """How far a log can be read."""

    @property
    def stable(self) -> int:
        """Last stable offset: readers of committed records get no further."""

    @property
    def high(self) -> int:
        """High watermark: everybody else's end."""


@dataclass(frozen=True)
class _Mark:
    stable: int
    high: int
    since_s: float


class Stalls:
    """Partitions of one cluster whose last stable offset stands still while their high watermark moves.

    Something holds a transaction open there. Errs to the large side by the time between two updates at most.
    """

    def __init__(self) -> None:
        self._marks: dict[TopicPartition, _Mark] = {}

    def update(self, now_s: float, reaches: Mapping[TopicPartition, Reach]) -> dict[TopicPartition, float]:
        """Take in how far each log reaches now; return for how many seconds each stalled one has been so."""
        marks, stalled = {}, {}
        for partition, reach in reaches.items():
            mark = self._marks.get(partition)
            if mark is None or reach.stable != mark.stable or reach.stable == reach.high:
                mark = _Mark(reach.stable, reach.high, now_s)
            marks[partition] = mark
            if reach.high > mark.high:
                stalled[partition] = now_s - mark.since_s
        self._marks = marks
        return stalled


class Backlog:
    """What of one cluster's logs is not in the record index yet."""

    def __init__(self) -> None:
        self._goals: dict[TopicPartition, tuple[int, float]] = {}

    def update(
        self, now_s: float, frontiers: Mapping[TopicPartition, int], reaches: Mapping[TopicPartition, Reach]
    ) -> tuple[int, float]:
        """Return how many offsets could be indexed and are not, and since how many seconds at least one of them.

        What stands below a log's start is counted where nothing of the log is indexed. A backlog that is new at this
        update is 0 seconds old.
        """
        goals, offsets = {}, 0
        for partition, reach in reaches.items():
            frontier = frontiers.get(partition, 0)
            if frontier < reach.stable:
                offsets += reach.stable - frontier
                goal = self._goals.get(partition)
                goals[partition] = goal if goal is not None and frontier < goal[0] else (reach.stable, now_s)
        self._goals = goals
        return offsets, max((now_s - since for _, since in goals.values()), default=0.0)
