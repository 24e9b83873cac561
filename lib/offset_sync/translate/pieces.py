"""A target's log cut into pieces on which f is linear or constant.

``f(y)`` is the offset in the source's log of the record at ``y`` of the target: a group has read the record once its
commit is greater. Cutting the target's runs at the source's segments, by identity, gives the pieces. There is no loop
over records and none over runs::

    target Y   offset   0   1   2   3   4   5   6        runs: x0 x1 | y0 y1 | x2 x3 | z7
    source X   holds    x0 y0 x1 x2 x3                   (y1 dropped by the mirror, z7 not mirrored yet)
               f(y)     0   2 | 1 | 3* | 3   4 | never   3*: a hole counts as the next later record of its origin

Where only bounds of a record's identity are known, its piece is between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import (
    UNKNOWN_ORIGIN,
    Int64s,
    Runs,
    distinct_origins,
    members,
    origin_of,
    records_below,
)
from offset_sync.translate.index.stretches import LatestPlaces, cut_at, greatest_so_far, repeated
from offset_sync.translate.partition_log import PartitionLog


def needs_of_bounded(
    runs: Runs, origin: int, source: LogIndex, young_since_ms: int
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Return the needs of each record of *runs*, a copy of one of *origin* at most at its offset; shape (records,).

    Also whether a hole below that is young. Every original up to there may be the one, so all of them must be read, in
    whatever order the *source*, not their origin, has them. Reads every page that has any of them.
    """
    _, high = members(runs.origin_start, runs.length)
    positions = source.positions(origin, -NO_LIMIT, int(high.max()) + 1)
    behind = positions.start.searchsorted(high, "right")
    needs = np.maximum(_last_to(high, positions.start, positions.end, positions.position), source.last_unknown)
    latest = source.unrecognised(origin)
    needs = np.maximum(needs, _last_to(high, latest.start, latest.end, latest.position))
    is_gap = high >= np.append(0, positions.end)[behind]
    is_beyond = is_gap & (behind == len(positions))
    hole = np.append(positions.next_offset, NO_LIMIT)[behind]
    needs = np.where(is_gap, np.maximum(needs, hole), needs)
    # The segment behind a gap shows it; there is none before the first original of all.
    seen_ms = np.where(
        positions.start > np.append(0, positions.end[:-1])[: len(positions)], positions.next_offset_indexed_at_ms, -1
    )
    young_to = greatest_so_far(seen_ms)[np.minimum(behind + is_gap, len(positions))]
    is_young = (young_to > young_since_ms) & ~is_beyond
    return np.where(is_young | is_beyond, NO_LIMIT, np.minimum(needs, NO_LIMIT)), is_young


def _last_to(high: Int64s, start: Int64s, end: Int64s, position: Int64s) -> Int64s:
    """Return the last place of any original up to each of *high* among segments, shape (records,); -1: none."""
    behind = start.searchsorted(high, "right")
    before = greatest_so_far(position + (end - start) - 1)[np.maximum(behind - 1, 0)]
    if len(start) == 0:
        return before
    at = np.maximum(behind - 1, 0)
    own = np.where(behind > 0, position[at] + np.minimum(high, end[at] - 1) - start[at], -1)
    return np.maximum(before, own)


@dataclass(frozen=True)
class Pieces(Columns):
    """Pieces of a target's log by ascending *start*; all arrays have shape (pieces,).

    A group has read record ``start + i`` once it has read the source's log up to and including ``needs + i`` where
    *is_linear*, else ``needs``; ``NO_LIMIT`` marks a record that the source does not have, as far as we know.
    *is_unknown* marks records that the source may hold beyond its index frontier, *is_malformed* those whose identity
    could not be read, *is_young* holes that may still be filled (these are unknown too). *unknown_copies* counts the
    unknown records of which the target holds another copy.
    """

    start: Int64s
    length: Int64s
    needs: Int64s
    is_linear: NDArray[np.bool_]
    is_unknown: NDArray[np.bool_]
    is_malformed: NDArray[np.bool_]
    is_young: NDArray[np.bool_]
    unknown_copies: int = field(default=0, kw_only=True)

    @property
    def last_needs(self) -> Int64s:
        """The f of each piece's last record, which is the greatest of the piece."""
        last: Int64s = self.needs + (self.length - 1) * self.is_linear
        return last

    def records_below(self, offset: Int64s) -> Int64s:
        """Return how many records are below each offset, shape (offsets,)."""
        return records_below(self.start, self.length, offset)

    def below(self, offset: int) -> Pieces:
        """Return the pieces below *offset*; a piece that straddles it is cut."""
        if len(self) == 0 or self.start[0] >= offset:
            return NO_PIECES
        kept = self.take(slice(0, int(self.start.searchsorted(offset, "left"))))
        return replace(kept, length=np.minimum(kept.length, offset - kept.start))


NO_PIECES = Pieces(*np.empty((3, 0), np.int64), *np.empty((4, 0), np.bool_))


def cut_pieces(runs: Runs, source: PartitionLog, young_since_ms: int) -> Pieces:
    """Cut the target's *runs* into pieces by the offsets of their records in the *source*'s log.

    Records that were produced at the source are there at their origin offsets and need no index. A hole that became
    visible after *young_since_ms* may still be filled, so its records count as missing at the source; and a record of
    unknown identity there may be the one that fills it. Errs to unread, as for all records that are not known to be
    there.
    """
    parts: list[Pieces] = []
    for code in distinct_origins(runs.origin):
        of_code, origin = (runs.origin == code).nonzero()[0], origin_of(code)
        mine = runs.take(of_code) if len(of_code) < len(runs) else runs
        if origin == source.origin:  # of a bounded one the greatest place that it can have there
            parts.append(_native(mine))
        elif code == UNKNOWN_ORIGIN:
            parts.append(_malformed(mine))
        elif code != origin:
            needs, is_young = needs_of_bounded(mine, origin, source.index, young_since_ms)
            parts.append(_one_by_one(mine, needs, is_young))
        else:
            low, high = int(mine.origin_start.min()), int((mine.origin_start + mine.length).max())
            positions = source.index.positions(origin, low, high)
            from_origin, pieces = _mirrored(mine, positions, source.index.last_unknown, young_since_ms)
            latest = source.index.unrecognised(origin).between(low, high)
            parts.append(_raised(pieces, from_origin, latest) if len(latest) else pieces)
    return _in_log_order(parts)


def _in_log_order(parts: list[Pieces]) -> Pieces:
    if len(parts) == 1:
        return parts[0]
    joined = NO_PIECES.followed_by(*parts)
    in_order = joined.take(joined.start.argsort(kind="stable"))
    return replace(in_order, unknown_copies=sum(part.unknown_copies for part in parts))


def _native(runs: Runs) -> Pieces:
    no = np.zeros(len(runs), np.bool_)
    return Pieces(runs.start, runs.length, runs.origin_start, ~no, no, no, no)


def _malformed(runs: Runs) -> Pieces:
    no = np.zeros(len(runs), np.bool_)
    return Pieces(runs.start, runs.length, np.full(len(runs), NO_LIMIT, np.int64), no, no, ~no, no)


def _one_by_one(runs: Runs, needs: Int64s, is_young: NDArray[np.bool_]) -> Pieces:
    """Return each record of *runs*, whose originals are only known by bounds, as a piece."""
    _, start = members(runs.start, runs.length)
    no, is_unknown = np.zeros(len(needs), np.bool_), needs >= NO_LIMIT
    one = np.ones(len(needs), np.int64)
    return Pieces(start, one, needs, no, is_unknown, no, is_young, unknown_copies=int(is_unknown.sum()))


def _raised(pieces: Pieces, from_origin: Int64s, latest: LatestPlaces) -> Pieces:
    """Return pieces with holes cut where the source may hold an unrecognised record, and raised to there.

    Such a record is read once the group has passed both what shows the hole and the last place where it may be.
    """
    is_hole = ~pieces.is_linear & ~pieces.is_unknown
    start, length = from_origin[is_hole], pieces.length[is_hole]
    hole, interval, begin, length = cut_at(start, start + length, latest.start, latest.end)
    parts, is_place = pieces.take(is_hole).take(hole), interval % 2 == 1
    near, needs = interval[is_place] // 2, parts.needs[is_place]
    first = latest.position[near] + (begin[is_place] - latest.start[near])
    is_later = first >= needs
    parts.needs[is_place] = np.where(is_later, first, np.maximum(needs, first + length[is_place] - 1))
    parts.is_linear[is_place] = is_later
    parts = replace(parts, start=parts.start + (begin - start[hole]), length=length)
    return _in_log_order([replace(pieces.take(~is_hole), unknown_copies=pieces.unknown_copies), parts])


def _mirrored(runs: Runs, positions: OriginPositions, last_unknown: int, young_since_ms: int) -> tuple[Int64s, Pieces]:
    """Cut runs of one origin at the segments of that origin in the source's log; return where each piece begins there.

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
    needs = np.full(len(row), int(NO_LIMIT), np.int64)
    needs[is_segment] = shift[segment[is_segment]] + from_origin[is_segment]
    is_hole = ~is_segment & (segment < len(seg_start))
    is_young = no = np.zeros(len(row), np.bool_)
    if is_hole.any():
        evidence, is_young = segment[is_hole], no.copy()
        is_young[is_hole] = positions.next_offset_indexed_at_ms[near][evidence] > young_since_ms
        passed = np.maximum(positions.next_offset[near][evidence], last_unknown)
        needs[is_hole] = np.where(is_young[is_hole], NO_LIMIT, passed)

    start: Int64s = runs.start[row] + (from_origin - runs.origin_start[row])
    # The source may have another copy of a truncated record, or of one in a hole that nothing else shows.
    is_unknown = needs >= NO_LIMIT
    copies = repeated(from_origin[is_unknown], length[is_unknown])
    return from_origin, Pieces(start, length, needs, is_segment, is_unknown, no, is_young, unknown_copies=copies)
