"""Which records of a target's log a group has read: of pieces of it by f, of whole stretches by heights.

``f(y)`` is the offset in the source's log of the record at ``y`` of the target: a group has read the record once its
commit is greater. Cutting the target's runs at the source's segments, by identity, gives pieces on which f is linear or
constant. There is no loop over records and none over runs::

    target Y   offset   0   1   2   3   4   5   6        runs: x0 x1 | y0 y1 | x2 x3 | z7
    source X   holds    x0 y0 x1 x2 x3                   (y1 dropped by the mirror, z7 not mirrored yet)
               f(y)     0   2 | 1 | 3* | 3   4 | never   3*: a hole counts as the next later record of its origin

Heights are how far groups have read each origin, by the source's records below and above their commits. If the mirror
has kept an origin's order this is one number per commit: a record has been read if and only
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
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import (
    UNKNOWN_ORIGIN,
    Int64s,
    Runs,
    distinct_origins,
)
from offset_sync.translate.index.stretches import Stretches, cut_at
from offset_sync.translate.partition_log import PartitionLog

Bools = NDArray[np.bool_]
_ZERO = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Pieces(Columns):
    """Pieces of a target's log by ascending *start*; all arrays have shape (pieces,).

    A group has read record ``start + i`` once it has read the source's log up to and including ``needs + i`` where
    *is_linear*, else ``needs``; ``NO_LIMIT`` marks a record that the source does not have, as far as we know.
    *is_malformed* marks records whose identity could not be read, *is_young* holes that may still be filled; these are
    :attr:`is_unknown` too.
    """

    start: Int64s
    length: Int64s
    needs: Int64s
    is_linear: NDArray[np.bool_]
    is_malformed: NDArray[np.bool_]
    is_young: NDArray[np.bool_]

    @property
    def is_unknown(self) -> NDArray[np.bool_]:
        """Where the source may hold the record beyond its index frontier."""
        return (self.needs >= NO_LIMIT) & ~self.is_malformed

    @property
    def last_needs(self) -> Int64s:
        """The f of each piece's last record, which is the greatest of the piece."""
        last: Int64s = self.needs + (self.length - 1) * self.is_linear
        return last

    def below(self, offset: int) -> Pieces:
        """Return the pieces below *offset*; a piece that straddles it is cut."""
        kept = self.take(slice(0, int(self.start.searchsorted(offset, "left"))))
        return replace(kept, length=np.minimum(kept.length, offset - kept.start))


NO_PIECES = Pieces(*np.empty((3, 0), np.int64), *np.empty((3, 0), np.bool_))


def cut_pieces(runs: Runs, source: PartitionLog, young_since_ms: int) -> Pieces:
    """Cut the target's *runs* into pieces by the offsets of their records in the *source*'s log.

    Records that were produced at the source are there at their origin offsets and need no index. A hole that became
    visible after *young_since_ms* may still be filled, so its records count as missing at the source; and a record of
    unknown identity there may be the one that fills it. Errs to unread, as for all records that are not known to be
    there.
    """
    parts: list[Pieces] = []
    for origin in distinct_origins(runs.origin):
        of_origin = (runs.origin == origin).nonzero()[0]
        mine = runs.take(of_origin) if len(of_origin) < len(runs) else runs
        if origin == source.origin:
            parts.append(_native(mine))
        elif origin == UNKNOWN_ORIGIN:
            parts.append(_malformed(mine))
        else:
            low, high = int(mine.origin_start.min()), int((mine.origin_start + mine.length).max())
            positions = source.index.positions(origin, low, high)
            parts.append(_mirrored(mine, positions, source.index.last_unknown, young_since_ms))
    return _in_log_order(parts)


def _in_log_order(parts: list[Pieces]) -> Pieces:
    if len(parts) == 1:
        return parts[0]
    joined = NO_PIECES.followed_by(*parts)
    return joined.take(joined.start.argsort(kind="stable"))


def _native(runs: Runs) -> Pieces:
    no = np.zeros(len(runs), np.bool_)
    return Pieces(runs.start, runs.length, runs.origin_start, ~no, no, no)


def _malformed(runs: Runs) -> Pieces:
    no = np.zeros(len(runs), np.bool_)
    return Pieces(runs.start, runs.length, np.full(len(runs), NO_LIMIT, np.int64), no, ~no, no)


def _mirrored(runs: Runs, positions: OriginPositions, last_unknown: int, young_since_ms: int) -> Pieces:
    """Cut runs of one origin at the segments of that origin in the source's log.

    The origin's offsets alternate between gaps and segments: interval ``2j`` is the gap before segment j, ``2j + 1``
    the segment itself, and the last interval holds the records that are not at the source yet.
    """
    run_end = runs.origin_start + runs.length
    # Only the segments these runs can meet, and the next one, which says what the last gap counts as.
    near = slice(
        int(positions.end.searchsorted(runs.origin_start.min(), "right")),
        int(positions.start.searchsorted(run_end.max(), "left")) + 1,
    )
    seg_start, shift = positions.start[near], positions.position[near] - positions.start[near]
    row, interval, from_origin, length = cut_at(runs.origin_start, run_end, seg_start, positions.end[near])
    segment, is_segment = interval // 2, interval % 2 == 1
    needs = np.full(len(row), NO_LIMIT, np.int64)
    needs[is_segment] = shift[segment[is_segment]] + from_origin[is_segment]
    is_hole = ~is_segment & (segment < len(seg_start))
    is_young = no = np.zeros(len(row), np.bool_)
    if is_hole.any():
        evidence, is_young = segment[is_hole], no.copy()
        is_young[is_hole] = positions.next_offset_indexed_at_ms[near][evidence] > young_since_ms
        passed = np.maximum(positions.next_offset[near][evidence], last_unknown)
        needs[is_hole] = np.where(is_young[is_hole], NO_LIMIT, passed)

    start: Int64s = runs.start[row] + (from_origin - runs.origin_start[row])
    return Pieces(start, length, needs, is_segment, no, is_young)


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
