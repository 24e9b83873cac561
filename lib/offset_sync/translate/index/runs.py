"""Runs: ranges of one partition's log in which offset and origin offset both grow by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offset_sync.translate.index.columns import Columns

Int64s = NDArray[np.int64]

UNKNOWN_ORIGIN = -1
"""Origin code of a record whose identity is unknown: it counts as unread, whatever was committed."""


@dataclass(frozen=True)
class Runs(Columns):
    """Runs of one (cluster, topic, partition), by ascending *start*, disjoint in offsets; arrays of shape (runs,).

    Record ``start + i`` of a run has the identity ``(origin, origin_start + i)`` for ``0 <= i < length``.
    *indexed_at_ms* (since the epoch) is when the index first saw the run: a hole is as old as the run that shows it.
    """

    start: Int64s
    length: Int64s
    origin: NDArray[np.int32]
    origin_start: Int64s
    indexed_at_ms: Int64s

    @classmethod
    def of(
        cls,
        start: ArrayLike,
        length: ArrayLike,
        origin: ArrayLike,
        origin_start: ArrayLike,
        indexed_at_ms: ArrayLike,
    ) -> Runs:
        """Build runs from anything array-like, shape (runs,) each."""
        return cls(
            np.asarray(start, np.int64),
            np.asarray(length, np.int64),
            np.asarray(origin, np.int32),
            np.asarray(origin_start, np.int64),
            np.asarray(indexed_at_ms, np.int64),
        )

    @property
    def end(self) -> Int64s:
        """First offset after each run."""
        end: Int64s = self.start + self.length
        return end

    def from_offset(self, offset: int) -> Runs:
        """Return the runs at or above *offset*; a run across it is cut. The cost depends on what is returned only."""
        if len(self) == 0 or offset <= self.start[0]:
            return self
        first = int(self.start.searchsorted(offset, "right")) - 1
        kept = self.take(slice(first, None))
        if kept.start[0] == offset:
            return kept
        if kept.start[0] + kept.length[0] <= offset:
            return kept.take(slice(1, None))
        cut = np.zeros(len(kept), np.int64)
        cut[0] = offset - kept.start[0]
        return kept.from_inside(cut)

    def below(self, offset: int) -> Runs:
        """Return the runs below *offset*; a run across it is cut."""
        kept = self.take(slice(0, int(self.start.searchsorted(offset, "left"))))
        return replace(kept, length=np.minimum(kept.length, offset - kept.start))

    def without_repeats(self) -> Runs:
        """Return runs that hold each offset once; where runs overlap, the earlier one by ascending start wins.

        Overlaps come from a re-index from the beginning; otherwise runs are disjoint.
        """
        covered = np.concatenate((self.start[:1], np.maximum.accumulate(self.end)[:-1]))
        cut = np.minimum(np.maximum(covered - self.start, 0), self.length)
        if not cut.any():
            return self
        kept = cut < self.length
        return self.take(kept).from_inside(cut[kept])

    def holds(self, others: Runs, start: Int64s, end: Int64s) -> bool:
        """Return whether the records of *others* in each ``[start, end)``, none empty, are here too."""
        at = self.start.searchsorted(start, "right") - 1
        if at.min() < 0:
            return False
        # Runs here are joined as far as possible, so one that is confirmed is inside a single one of them.
        is_same = (self.end[at] >= end) & (self.origin[at] == others.origin)
        is_same &= self.origin_start[at] - self.start[at] == others.origin_start - others.start
        return bool(is_same.all())

    def from_inside(self, cut: Int64s) -> Runs:
        """Return the runs without their first *cut* records, shape (runs,)."""
        return Runs(self.start + cut, self.length - cut, self.origin, self.origin_start + cut, self.indexed_at_ms)

    def continues(self, before: Runs) -> bool:
        """Return whether the first run here continues the last of those *before*; neither is empty."""
        length = before.length[-1]
        is_next = self.start[0] == before.start[-1] + length and self.origin[0] == before.origin[-1]
        return bool(is_next and self.origin_start[0] == before.origin_start[-1] + length)

    def joined(self) -> Runs:
        """Join neighbours that continue each other, which the borders of micro-batches have cut.

        A joined run keeps the indexing time of its first record: that is the one that shows a hole before the run.
        """
        if len(self) < 2:
            return self
        continues = (
            (self.start[1:] == self.end[:-1])
            & (self.origin[1:] == self.origin[:-1])
            & (self.origin_start[1:] == self.origin_start[:-1] + self.length[:-1])
        )
        first = np.concatenate(([True], ~continues)).nonzero()[0]
        return replace(self.take(first), length=np.add.reduceat(self.length, first))


NO_RUNS = Runs.of([], [], [], [], [])


def members(first: NDArray[Any], count: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return all numbers of the ranges ``[first, first + count)``, shape (ranges,): the row of its range, and each."""
    row = np.arange(len(count)).repeat(count)
    return row, (first - count.cumsum() + count).repeat(count) + np.arange(len(row))


def records_below(start: Int64s, length: Int64s, offset: Int64s) -> Int64s:
    """Return how many records are below each offset, shape (offsets,), in stretches by ascending *start*."""
    if len(start) == 0:
        return np.zeros(len(offset), np.int64)
    row = start.searchsorted(offset, "right") - 1
    at = np.maximum(row, 0)
    into = np.minimum(np.maximum(offset - start[at], 0), length[at])
    before = np.concatenate(([0], length.cumsum()))
    return np.where(row >= 0, before[at] + into, 0)


def distinct_origins(origin: NDArray[np.int32]) -> list[int]:
    """Return the different codes among *origin*, shape (runs,), ascending; they are small numbers."""
    found: list[int] = (np.bincount(origin - UNKNOWN_ORIGIN).nonzero()[0] + UNKNOWN_ORIGIN).tolist()
    return found
