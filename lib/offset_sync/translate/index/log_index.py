"""What the index knows of one (cluster, topic, partition): its runs, and how far they reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.growable_array import GrowingArray
from offset_sync.translate.index.indexing_times import IndexingTimes
from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.index.time_index import TimeIndex


class LogIndex:
    """Runs of one log in memory, extended as ``record_runs`` grows.

    Everything in ``[begin, frontier)`` is known: an offset in there without a run holds no record (it is a transaction
    marker, or compacted away). Nothing is known outside. The frontier must never pass a record that is not among the
    runs, for groups would lose that record.

    *is_contradicted*: the index was given two different records for one offset. The log was truncated there and has
    grown anew, and nobody can tell from here which of them holds, so nothing of it may be translated any more. *times*
    exists for topics that are translated by timestamp. *grew_at_ms* is when the last record was indexed,
    *indexing_times* when the others were. What stood in the log at *complete_until_ms* is indexed; errs to earlier.
    *last_unknown* is the last offset of which nobody knows the record, -1: there is none. *lost_records* were taken by
    cuts; a group may have read them before.
    """

    def __init__(self, begin: int = 0) -> None:
        self._columns = tuple(GrowingArray() for _ in range(5))
        self._positions: dict[int, tuple[OriginPositions, int]] = {}
        self._lost: list[Runs] = []
        self.begin = begin
        self.frontier = begin
        self.is_contradicted = False
        self.times: TimeIndex | None = None
        self.origins: set[int] = set()
        self.grew_at_ms = self.complete_until_ms = 0
        self.last_unknown, self._unknown_runs = -1, 0
        self.lost_records = 0
        self.indexing_times = IndexingTimes()

    @property
    def runs(self) -> Runs:
        """All runs, by ascending offset; neighbours that continue each other are joined."""
        start, length, origin, origin_start, indexed_at_ms = (column.values for column in self._columns)
        return Runs(start, length, origin, origin_start, indexed_at_ms)  # type: ignore[arg-type]

    def extend(self, runs: Runs, frontier: int) -> None:
        """Add newly indexed *runs*, by ascending offset, and move the frontier to *frontier* if that is further.

        What lies below the old frontier is known already and left out, and so is what *runs* hold twice: after a
        re-index the table repeats everything.
        """
        fresh = runs.without_repeats().from_offset(self.frontier) if len(runs) else runs
        if len(fresh):
            self.grew_at_ms = max(self.grew_at_ms, int(fresh.indexed_at_ms.max()))
            self.origins.update(np.unique(fresh.origin).tolist())
            self.indexing_times.extend(fresh.start, fresh.indexed_at_ms)
            unknown = fresh.take(np.asarray(fresh.origin == UNKNOWN_ORIGIN))
            self.last_unknown = max(self.last_unknown, int((unknown.start + unknown.length).max(initial=0)) - 1)
            self._unknown_runs += len(unknown)
            fresh = fresh.joined()
            self._append(fresh)
            frontier = max(frontier, int(fresh.start[-1] + fresh.length[-1]))
        self.frontier = max(self.frontier, frontier)
        self.is_contradicted = self.is_contradicted or not self._confirms(runs)

    def _confirms(self, runs: Runs) -> bool:
        """Return whether the index holds the same records as *runs*, at all offsets that it covers."""
        start, end = np.maximum(runs.start, self.begin), np.minimum(runs.end, self.frontier)
        asked = np.flatnonzero(start < end)
        known, wanted = self.runs, runs.take(asked)
        at = np.searchsorted(known.start, start[asked], "right") - 1
        if len(at) == 0:
            return True
        if at.min() < 0:
            return False
        # Known runs are joined as far as they can be, so a run that is confirmed lies inside a single one of them.
        is_same = (known.end[at] >= end[asked]) & (known.origin[at] == wanted.origin)
        is_same &= known.origin_start[at] - known.start[at] == wanted.origin_start - wanted.start
        return bool(is_same.all())

    def _append(self, fresh: Runs) -> None:
        known = self.runs
        if len(known):
            last = known.take(slice(len(known) - 1, None))
            if len(Runs(*map(_concatenate, _columns_of(last), _columns_of(fresh.take(slice(0, 1))))).joined()) == 1:
                self._columns[1].set_last(int(last.length[0] + fresh.length[0]))
                fresh = fresh.take(slice(1, None))
        for column, values in zip(self._columns, _columns_of(fresh), strict=True):
            column.append(values)

    def lose(self, copies: Runs, own_records: int = 0) -> None:
        """Note which *copies* this log had before it was cut: unread by everyone until it has them again.

        So are its *own_records* that others still have: to them they are records of another origin.
        What nobody could identify may be any record that this log lacks. To be called before anybody asks for
        positions: a log that was cut is taken in anew.
        """
        self._lost.append(copies)
        self.lost_records += int(copies.length.sum()) + own_records
        if (copies.origin == UNKNOWN_ORIGIN).any():
            self.last_unknown = NO_LIMIT

    def _lost_positions(self, origin: int) -> OriginPositions:
        """Return the positions of what was lost of *origin*: beyond any that the log may have."""
        positions = OriginPositions()
        for copies in self._lost:
            of_origin = copies.take(np.asarray(copies.origin == origin))
            positions.extend(replace(of_origin, start=np.full(len(of_origin), NO_LIMIT)))
        return positions

    def positions(self, origin: int) -> OriginPositions:
        """Return where the records of *origin* stand in this log; brought up to date with the runs first."""
        known = self._positions.get(origin)
        positions, done = known if known is not None else (self._lost_positions(origin), self.begin)
        if done < self.frontier:
            fresh = self.runs.from_offset(done)
            positions.extend(fresh.take(np.asarray(fresh.origin == origin)))
            self._positions[origin] = (positions, self.frontier)
        return positions

    def reorder_count(self) -> int:
        """Return how often a record came below an origin offset already seen, or may have.

        When it rises earlier answers may fall, so a window that they promised (``Bounds.window_start``) is void.
        """
        return self._unknown_runs + sum(self.positions(origin).reorder_count for origin in list(self._positions))

    def first_runs(self) -> Runs:
        """Return the first run of each origin; a log whose index began late is judged by these."""
        runs = self.runs
        _, first = np.unique(runs.origin, return_index=True)
        return runs.take(first)


def _columns_of(runs: Runs) -> tuple[NDArray[Any], ...]:
    return runs.start, runs.length, runs.origin, runs.origin_start, runs.indexed_at_ms


def _concatenate(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate((first, second))
