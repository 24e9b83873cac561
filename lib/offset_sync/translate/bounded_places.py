"""Where records stand in the source's log of which only bounds are known, there or in the target's.

Copies without headers may be of one of several originals. Whatever is not known makes the place later, so such a record
counts as unread for longer: for an original that nobody recognised the last place where it may stand, and for a copy
the last place of any original up to the greatest that it can be of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.latest_places import LatestPlaces, cut_at, greatest_so_far
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s, Runs


class Raised(NamedTuple):
    """Parts of holes: the number of the hole, the records of it before the part, and what the part needs."""

    hole: NDArray[np.intp]
    skipped: Int64s
    length: Int64s
    needs: Int64s
    is_linear: NDArray[np.bool_]


def raised(start: Int64s, length: Int64s, needs: Int64s, latest: LatestPlaces) -> Raised:
    """Cut holes, which begin at origin offset *start*, where the source may hold their records; shapes (holes,).

    Such a record is read once the group has passed both what shows the hole and the last place where it may stand.
    """
    hole, interval, begin, size = cut_at(start, start + length, latest.start, latest.end)
    found = needs[hole].copy()
    is_place = interval % 2 == 1
    near = interval[is_place] // 2
    first = latest.position[near] + (begin[is_place] - latest.start[near])
    is_later = first >= found[is_place]
    found[is_place] = np.where(is_later, first, np.maximum(found[is_place], first + size[is_place] - 1))
    is_linear = is_place.copy()
    is_linear[is_place] = is_later
    return Raised(hole, begin - start[hole], size, found, is_linear)


def needs_of_bounded(
    runs: Runs, origin: int, source: LogIndex, young_since_ms: int
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Return what each record of *runs* needs, a copy of one of *origin* at most at its offset; shape (records,).

    Also whether a hole below that is young. Every original up to there may be meant, so all of them have to be read,
    in whatever order the *source* has them; it did not produce them. Reads every page that has any of them.
    """
    high = (runs.origin_start - (np.cumsum(runs.length) - runs.length)).repeat(runs.length)
    high += np.arange(len(high))
    positions = source.positions(origin, -NO_LIMIT, int(high.max()) + 1)
    behind = positions.start.searchsorted(high, "right")
    needs = np.maximum(_last_to(high, positions.start, positions.end, positions.position), source.last_unknown)
    latest = source.unrecognised.of(origin)
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
