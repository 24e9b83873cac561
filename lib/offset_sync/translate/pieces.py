"""A target's log cut into pieces on which f, the last read that a record needs, is linear or constant.

``f(y)`` is the offset at which the record that stands at ``y`` of the target stands at the source. Cutting the
target's runs at the source's segments by identity gives pieces; no loop runs over records or over runs::

    target Y   offset   0   1   2   3   4   5   6        runs: x0 x1 | y0 y1 | x2 x3 | z7
    source X   holds    x0 y0 x1 x2 x3                   (y1 dropped by the mirror, z7 not mirrored yet)
               f(y)     0   2 | 1 | 3* | 3   4 | never   3*: a hole counts as the next later record of its origin
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs


@dataclass(frozen=True)
class Pieces:
    """Pieces of a target's log by ascending *start*; all arrays have shape (pieces,).

    Record ``start + i`` needs the source's record at ``needs + i`` to be read where *is_linear*, else ``needs``
    itself; ``NO_LIMIT`` is a record the source has not got, as far as is known. *is_unknown* marks those that it may
    hold beyond its index frontier, *is_malformed* those whose identity could not be read, *is_young* holes that may
    still be filled; these are unknown too. *unknown_copies* counts unknown records of which the target has another.
    """

    start: Int64s
    length: Int64s
    needs: Int64s
    is_linear: NDArray[np.bool_]
    is_unknown: NDArray[np.bool_]
    is_malformed: NDArray[np.bool_]
    is_young: NDArray[np.bool_]
    unknown_copies: int = 0

    def __len__(self) -> int:
        return len(self.start)

    @property
    def last_needs(self) -> Int64s:
        """F of each piece's last record, its greatest."""
        last: Int64s = self.needs + np.where(self.is_linear, self.length - 1, 0)
        return last

    def records_below(self, offset: Int64s) -> Int64s:
        """Return how many records stand below each offset, shape (offsets,)."""
        if len(self) == 0:
            return np.zeros(len(offset), np.int64)
        row = np.searchsorted(self.start, offset, "right") - 1
        into = np.clip(offset - self.start[np.maximum(row, 0)], 0, self.length[np.maximum(row, 0)])
        before = np.concatenate(([0], np.cumsum(self.length)))
        return np.where(row >= 0, before[np.maximum(row, 0)] + into, 0)

    def below(self, offset: int) -> Pieces:
        """Return what lies below *offset*; a piece that straddles it is cut."""
        kept = slice(0, int(np.searchsorted(self.start, offset, "left")))
        length = np.minimum(self.length[kept], offset - self.start[kept])
        return Pieces(
            self.start[kept],
            length,
            self.needs[kept],
            self.is_linear[kept],
            self.is_unknown[kept],
            self.is_malformed[kept],
            self.is_young[kept],
        )


def cut_pieces(runs: Runs, source: LogIndex | None, source_origin: int, young_since_ms: int) -> Pieces:
    """Cut the target's *runs* into pieces by where their records stand at the *source*.

    *source_origin* is the source's own origin code: its records stand there at their origin offsets and need no
    index. A hole whose evidence was indexed after *young_since_ms* may still be filled, so it counts as not there.
    Errs to the small side: what is not known to be at the source is taken as unread.
    """
    parts: list[tuple[NDArray[np.intp], Pieces]] = []
    for origin in np.unique(runs.origin):
        index = np.flatnonzero(runs.origin == origin)
        mine = runs.take(index)
        if origin == source_origin:
            parts.append((index, _native(mine)))
        elif origin == UNKNOWN_ORIGIN:
            parts.append((index, _malformed(mine)))
        else:
            positions = source.positions(int(origin)) if source is not None else OriginPositions()
            row, pieces = _mirrored(mine, positions, young_since_ms)
            parts.append((index[row], pieces))
    return _in_log_order(parts)


def _in_log_order(parts: list[tuple[NDArray[np.intp], Pieces]]) -> Pieces:
    if not parts:
        nothing, no = np.empty(0, np.int64), np.empty(0, np.bool_)
        return Pieces(nothing, nothing, nothing, no, no, no, no)
    pieces = [part for _, part in parts]
    columns = [field.name for field in fields(Pieces) if field.name != "unknown_copies"]
    joined = {name: np.concatenate([getattr(part, name) for part in pieces]) for name in columns}
    order = np.argsort(joined["start"], kind="stable") if len(parts) > 1 else slice(None)
    copies = sum(part.unknown_copies for part in pieces)
    return Pieces(**{name: values[order] for name, values in joined.items()}, unknown_copies=copies)


def _native(runs: Runs) -> Pieces:
    no = np.zeros(len(runs), np.bool_)
    return Pieces(runs.start, runs.length, runs.origin_start, ~no, no, no, no)


def _malformed(runs: Runs) -> Pieces:
    no = np.zeros(len(runs), np.bool_)
    return Pieces(runs.start, runs.length, np.full(len(runs), NO_LIMIT, np.int64), no, no, ~no, no)


def _mirrored(runs: Runs, positions: OriginPositions, young_since_ms: int) -> tuple[NDArray[np.intp], Pieces]:
    """Cut runs of one origin at the segments in which that origin stands at the source.

    The origin's offsets are a line of alternating gaps and segments: interval ``2j`` is the gap before segment j,
    ``2j + 1`` the segment itself, the last one the records not yet at the source. Returns also each piece's run.
    """
    run_end = runs.origin_start + runs.length
    # Only the segments these runs can meet, and the next one, which says what the last gap counts as.
    near = slice(
        int(np.searchsorted(positions.end, runs.origin_start.min(), "right")),
        int(np.searchsorted(positions.start, run_end.max(), "left")) + 1,
    )
    seg_start, seg_position = positions.start[near], positions.position[near]
    low = np.empty(2 * len(seg_start) + 1, np.int64)
    low[0], low[1::2], low[2::2] = -NO_LIMIT, seg_start, positions.end[near]
    first = np.searchsorted(low, runs.origin_start, "right") - 1
    count = np.searchsorted(low, run_end, "left") - first
    row = np.repeat(np.arange(len(runs)), count)
    interval = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(row))

    from_origin: Int64s = np.maximum(low[interval], runs.origin_start[row])
    high = np.append(low[1:], NO_LIMIT)
    length: Int64s = np.minimum(high[interval], run_end[row]) - from_origin
    segment, is_segment, is_beyond = interval // 2, interval % 2 == 1, interval == 2 * len(seg_start)
    needs = np.full(len(row), int(NO_LIMIT), np.int64)
    needs[is_segment] = (seg_position - seg_start)[segment[is_segment]] + from_origin[is_segment]
    is_hole = ~is_segment & ~is_beyond
    evidence = segment[is_hole]
    is_young = np.zeros(len(row), np.bool_)
    is_young[is_hole] = positions.next_offset_indexed_at_ms[near][evidence] > young_since_ms
    needs[is_hole] = np.where(is_young[is_hole], NO_LIMIT, positions.next_offset[near][evidence])

    start: Int64s = runs.start[row] + (from_origin - runs.origin_start[row])
    kept = length > 0
    no = np.zeros(int(kept.sum()), np.bool_)
    is_unknown = (is_beyond | is_young)[kept]
    copies = _repeated(from_origin[kept][is_unknown], length[kept][is_unknown])
    pieces = Pieces(
        start[kept], length[kept], needs[kept], is_segment[kept], is_unknown, no, is_young[kept], copies
    )  # fmt: skip
    return row[kept], pieces


def _repeated(start: Int64s, length: Int64s) -> int:
    """Return by how much the stretches ``[start, start + length)`` together are longer than what they cover."""
    if len(start) == 0:
        return 0
    order = np.argsort(start)
    start, end = start[order], (start + length)[order]
    covered_to = np.concatenate(([start[0]], np.maximum.accumulate(end)[:-1]))
    return int(length.sum() - np.maximum(end - np.maximum(start, covered_to), 0).sum())
