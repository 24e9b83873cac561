"""How far groups have read each origin, by the source's records below and above their commits.

If the mirror has kept an origin's order this is one number per commit, its height: a record has been read if and only
if its origin offset is not above it, wherever the target has the record::

    source X      o1 o2 p7 | o3 p8      commit between: of o read up to 2, of p up to 7
    target Y      o1 p7 o2 o3 p8        the first record above its height is o3

For most stretches of the source's log the directory of its index is enough; only the one that contains a commit is
read. Otherwise there are two numbers: *safe*, up to which everything is read, and *most*, above which nothing is. Errs
to these. A hole counts as read once the first record above it in the log is read. If that one is young the hole may
still be filled, so heights do not decide such offsets (:meth:`ReadHeights.is_open`).

Stretches of which groups have read everything, or nothing, are decided without reading a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs, distinct_origins
from offset_sync.translate.index.stretches import Stretches
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import Pieces

Bools = NDArray[np.bool_]
_ZERO = np.zeros(1, np.int64)


class ReadHeights:
    """The heights of *committed* offsets of the *source*, shape (commits,), for each of some *origins*.

    What was indexed after *young_since_ms* is young. By origin, shapes (commits,): each group has read everything up
    to the offset *safe*, and nothing above the offset *most*.
    """

    def __init__(self, committed: Int64s, source: PartitionLog, young_since_ms: int, origins: Iterable[int]) -> None:
        self._committed, self._source = committed, source
        self._known = source.index.stretches()
        self._young_from = np.flatnonzero(self._known.seen_ms > young_since_ms)[:1]
        self.safe: dict[int, Int64s] = {}
        self.most: dict[int, Int64s] = {}
        self._reaches: dict[int, tuple[Int64s, Int64s]] = {}
        for origin in origins:
            self._judge(origin)

    def is_open(self, origin: int, high: Int64s) -> Bools:
        """Return which stretches, with offsets of *origin* up to *high*, may have holes with young evidence.

        Those whose first greater offset in the log may be in a young stretch, or behind one; shapes (stretches,).
        """
        if origin == self._source.origin or len(self._young_from) == 0:
            return np.zeros(len(high), np.bool_)
        highest_to, _ = self._reach(origin)
        return high >= highest_to[self._young_from]

    def decided(self) -> Bools:
        """Return which commits have one height for each origin so far, shape (commits,).

        Then all records known to be below the commit have offsets up to the height, all others are above it, and no
        lost record is up to it. A hole above the height is unread however old, because the record that shows it is
        above the commit. Commits beyond the source's index are not decided: they cover unknown records.
        """
        found: Bools = self._committed <= self._source.index.frontier
        for origin, safe in self.safe.items():
            found &= safe == self.most[origin]
        return found

    def look_into(self, rows: Bools) -> None:
        """Read the stretches that contain the commits *rows*, shape (commits,), to refine their heights."""
        known, number = self._known, self._known.start.searchsorted(self._committed, "left") - 1
        if len(known) == 0:
            return
        is_inside = rows & (number >= 0) & (self._committed < known.end[np.maximum(number, 0)])
        origins = [origin for origin in self.safe if origin != self._source.origin]
        for each in np.unique(number[is_inside]).tolist() if origins else ():
            runs, inside = self._source.index.paged.part(each), (is_inside & (number == each)).nonzero()[0]
            for origin in origins:
                self._look(origin, runs, each, inside)

    def _judge(self, origin: int) -> None:
        """Set heights by whole stretches."""
        if origin == self._source.origin:
            self.safe[origin] = self.most[origin] = self._committed - 1
            return
        known, committed = self._known, self._committed
        highest_to, lowest_from = self._reach(origin)
        passed = known.end.searchsorted(committed, "right")
        self.safe[origin] = self._not_above(origin, committed, highest_to[passed], lowest_from[passed])
        self.most[origin] = highest_to[np.searchsorted(known.start, committed, "left")]

    def _look(self, origin: int, runs: Runs, number: int, rows: NDArray[np.intp]) -> None:
        """Refine heights by the *runs* of the stretch of this *number*, which contains the commits *rows*."""
        committed = self._committed[rows]
        highest_to, lowest_from = self._reach(origin)
        high, lowest = highest_to[number], lowest_from[number + 1]
        mine = (runs.origin == origin).nonzero()[0]
        if len(mine):
            start, low, length = runs.start[mine], runs.origin_start[mine], runs.length[mine]
            end, below = low + length, start.searchsorted(committed, "left")
            # The last run that begins below a commit may reach across it: its offsets from there on are not below.
            last = np.maximum(below - 1, 0)
            cut = low[last] + np.minimum(committed - start[last], length[last])
            reach = np.concatenate(([0], np.maximum.accumulate(end)))[last]
            high = np.where(below > 0, np.maximum(high, np.maximum(reach, cut) - 1), high)
            from_here = np.append(np.minimum.accumulate(low[::-1])[::-1], NO_LIMIT)[below]
            is_across = (below > 0) & (cut < end[last])
            lowest = np.minimum(lowest, np.where(is_across, np.minimum(from_here, cut), from_here))
        self.safe[origin][rows] = self._not_above(origin, committed, high, lowest)
        self.most[origin][rows] = high

    def _reach(self, origin: int) -> tuple[Int64s, Int64s]:
        """Return the highest offset of *origin* before each stretch and, last, of all, and the lowest from there on.

        Shapes (stretches + 1,).
        """
        if origin not in self._reaches:
            span = self._known.span(origin)
            highest_to = np.concatenate(([-1], np.maximum.accumulate(span.high)))
            lowest_from = np.concatenate((np.minimum.accumulate(span.low[::-1])[::-1], [NO_LIMIT]))
            self._reaches[origin] = highest_to, lowest_from
        return self._reaches[origin]

    def _not_above(self, origin: int, committed: Int64s, high: Int64s, lowest: Int64s) -> Int64s:
        """Return up to where everything is read, by offsets up to *high* below a commit and from *lowest* on above it.

        Lost records do not count as read. Below a record of unknown identity nothing does, because that one may fill
        a hole.
        """
        index = self._source.index
        safe = np.minimum(np.minimum(high, lowest - 1), index.lowest_lost(origin) - 1)
        return np.where(committed <= index.last_unknown, -1, safe)


class ReadByHeight(NamedTuple):
    """What groups have read of some runs, shapes (groups,): how many records, and *has_unread* where not all of them.

    There *first_unread* is the offset of the first one that is not, and *below* counts the records before it.
    """

    read: Int64s
    has_unread: Bools
    first_unread: Int64s
    below: Int64s


def read_by_height(runs: Runs, heights: ReadHeights, rows: NDArray[np.intp]) -> ReadByHeight:
    """Return what the groups *rows*, whose commits are decided, have read of *runs*.

    These are of a stretch that ``is_decided_by_heights``: of origins that *heights* knows, and without open holes.
    """
    read = np.zeros(len(rows), np.int64)
    run, into = np.full(len(rows), len(runs)), np.zeros(len(rows), np.int64)
    for origin in distinct_origins(runs.origin):
        of_origin = (runs.origin == origin).nonzero()[0]
        low, end = runs.origin_start[of_origin], (runs.origin_start + runs.length)[of_origin]
        read_to = heights.safe[origin][rows] + 1
        read += linear_below(low, end, read_to)
        number = np.maximum.accumulate(end).searchsorted(read_to, "right")
        first = np.append(of_origin, len(runs))[number]
        is_first = first < run
        run[is_first] = first[is_first]
        into[is_first] = np.maximum(read_to[is_first] - low[number[is_first]], 0)
    at = np.minimum(run, len(runs) - 1)
    below = runs.length.cumsum()[at] - runs.length[at] + into
    return ReadByHeight(read, run < len(runs), runs.start[at] + into, below)


def count_read(pieces: Pieces, committed: Int64s) -> Int64s:
    """Return, for each committed offset c, how many records of *pieces* have f < c.

    A linear piece contributes ``clip(c - needs, 0, length)``, which is the difference of two ramps, so all of them
    together cost one sorted search. Sums may wrap around 2**64 on the way; the differences come out right.
    """
    linear = pieces.is_linear
    needs = pieces.needs[linear]
    read = linear_below(needs, needs + pieces.length[linear], committed)
    if len(needs) < len(linear):
        read += constant_below(pieces, ~linear, committed)
    return read


def constant_below(pieces: Pieces, chosen: Bools, committed: Int64s) -> Int64s:
    """Return how many records of the *chosen* pieces, which are not linear, each commit has passed."""
    needs, length = pieces.needs[chosen], pieces.length[chosen]
    order = needs.argsort()
    passed: Int64s = np.concatenate((_ZERO, length[order].cumsum()))[needs[order].searchsorted(committed, "left")]
    return passed


def linear_below(start: Int64s, end: Int64s, committed: Int64s) -> Int64s:
    """Return how much of the ranges ``[start, end)`` is below each commit, all ranges together."""
    return _ramp(start, committed) - _ramp(end, committed)


def _ramp(corners: Int64s, committed: Int64s) -> Int64s:
    """Return the sum of ``max(0, c - corner)`` over all corners, for each committed offset c."""
    if not (corners[1:] >= corners[:-1]).all():  # as they are where the log keeps the order
        corners = np.sort(corners)
    sums = np.concatenate((_ZERO, corners.cumsum()))
    below = corners.searchsorted(committed, "left")
    ramp: Int64s = below * committed - sums[below]
    return ramp


def read_for_sure(stretches: Stretches, heights: ReadHeights, rows: Bools) -> tuple[Bools, Bools]:
    """Return of which stretches the groups *rows* have read everything, and of which nothing.

    Both have shape (stretches, rows). A record is unread if its origin offset is above all those below the commit at
    the source, in any order. It is read if it is not, and below all those at or above the commit. One that may still
    fill a hole is neither.
    """
    everything = is_decided_by_heights(stretches, heights)[:, None].repeat(np.count_nonzero(rows), axis=1)
    nothing = np.ones_like(everything)
    for origin in origins_in(stretches):
        span = stretches.span(origin)
        everything &= span.high[:, None] <= heights.safe[origin][rows]
        nothing &= span.low[:, None] > heights.most[origin][rows]
    return everything, nothing & ~everything


def origins_in(stretches: Stretches) -> set[int]:
    """Return the origins of which *stretches* have records, without the unknown one."""
    return stretches.spans.keys() - {UNKNOWN_ORIGIN}


def is_decided_by_heights(stretches: Stretches, heights: ReadHeights) -> Bools:
    """Return which of *stretches* are fully decided by the heights of decided commits."""
    found: Bools = stretches.span(UNKNOWN_ORIGIN).records == 0
    for origin in origins_in(stretches):
        span = stretches.span(origin)
        found &= ~heights.is_open(origin, span.high)
    return found
