"""A target's log cut into pieces on which f is linear or constant.

``f(y)`` is the offset in the source's log of the record at ``y`` of the target: a group has read the record once its
commit is greater. Cutting the target's runs at the source's segments, by identity, gives the pieces. There is no loop
over records and none over runs::

    target Y   offset   0   1   2   3   4   5   6        runs: x0 x1 | y0 y1 | x2 x3 | z7
    source X   holds    x0 y0 x1 x2 x3                   (y1 dropped by the mirror, z7 not mirrored yet)
               f(y)     0   2 | 1 | 3* | 3   4 | never   3*: a hole counts as the next later record of its origin
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import (
    UNKNOWN_ORIGIN,
    Int64s,
    Runs,
    distinct_origins,
    records_below,
)
from offset_sync.translate.index.stretches import cut_at
from offset_sync.translate.partition_log import PartitionLog


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

    def records_below(self, offset: Int64s) -> Int64s:
        """Return how many records are below each offset, shape (offsets,)."""
        return records_below(self.start, self.length, offset)

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
