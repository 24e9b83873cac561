"""A summary of stretches of a log without their runs: how far each origin's offsets reach in them.

That is enough to decide for most stretches that a group has read all of them, or nothing::

    log of Y     | o1 .. o90 |  o91 .. o140 p7 .. p20 |  o141 .. o200 |
    of origin o       1 to 90        91 to 140           141 to 200         a group that has read o up to 100 has read
    of origin p         -              7 to 20               -              all, some, nothing
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s, Runs, distinct_origins, members

NONE_LOW, NONE_HIGH = NO_LIMIT, -1
"""Lowest and highest origin offset of what is not there."""


class OriginSpans(NamedTuple):
    """Lowest and highest offset of one origin in each stretch, and how many records it has there; shapes (stretches,).

    ``NONE_LOW`` and ``NONE_HIGH`` where it has none.
    """

    low: Int64s
    high: Int64s
    records: Int64s

    @classmethod
    def absent(cls, stretches: int) -> OriginSpans:
        """Return those of an origin that has no record in any."""
        low, high, records = (np.full(stretches, value, np.int64) for value in (NONE_LOW, NONE_HIGH, 0))
        return cls(low, high, records)


@dataclass(frozen=True)
class Stretches(Columns):
    """Neighbouring stretches ``[start, end)`` of a log by ascending offset, none of them without a run.

    *first_record* is the offset of each one's first record, *seen_ms* when its newest run was indexed; shapes
    (stretches,). *spans* are by code of an origin.
    """

    start: Int64s
    end: Int64s
    first_record: Int64s
    records: Int64s
    seen_ms: Int64s
    spans: Mapping[int, OriginSpans] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, runs: Runs, start: int, end: int) -> Stretches:
        """Return the one stretch ``[start, end)``, whose *runs* are these; none where there are none."""
        if len(runs) == 0:
            return NO_PAGES
        spans = {}
        for origin in distinct_origins(runs.origin):
            mine = runs.origin == origin
            low, length = runs.origin_start[mine], runs.length[mine]
            spans[origin] = OriginSpans(_one(low.min()), _one((low + length).max() - 1), _one(length.sum()))
        numbers = (start, end, runs.start[0], runs.length.sum(), runs.indexed_at_ms.max())
        return cls(*map(_one, numbers), spans=spans)

    def span(self, origin: int) -> OriginSpans:
        """Return the range of *origin*'s offsets in each stretch."""
        return self.spans.get(origin) or OriginSpans.absent(len(self))

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Stretches:
        """Return the chosen stretches."""
        spans = {origin: OriginSpans(*(column[rows] for column in each)) for origin, each in self.spans.items()}
        return replace(super().take(rows), spans=spans)

    def ended_by(self, offset: int) -> int:
        """Return how many stretches end at or below *offset*."""
        return int(self.end.searchsorted(offset, "right"))


NO_PAGES = Stretches.none()


def in_a_row(parts: Sequence[Stretches]) -> Stretches:
    """Return the stretches of all *parts*, which follow each other."""
    if len(parts) == 1:
        return parts[0]
    spans = {}
    for origin in dict.fromkeys(origin for part in parts for origin in part.spans):
        of_origin = zip(*(part.span(origin) for part in parts), strict=True)
        spans[origin] = OriginSpans(*map(np.concatenate, of_origin))
    return replace(NO_PAGES.followed_by(*parts), spans=spans)


def _one(number: Any) -> Int64s:
    return np.array([number], np.int64)


def cut_at(
    start: Int64s, end: Int64s, cut_start: Int64s, cut_end: Int64s
) -> tuple[NDArray[np.intp], NDArray[np.intp], Int64s, Int64s]:
    """Cut each ``[start, end)`` at segments ``[cut_start, cut_end)``, disjoint and ascending; shapes differ.

    Segments and the gaps between them alternate: interval ``2j`` is the gap before segment j, ``2j + 1`` the segment
    itself, and the last one the rest behind all of them. Returns, of each part, the number of its range and of its
    interval, and its own start and length, which is more than 0.
    """
    low = np.empty(2 * len(cut_start) + 1, np.int64)
    low[0], low[1::2], low[2::2] = -NO_LIMIT, cut_start, cut_end
    first = low.searchsorted(start, "right") - 1
    row, interval = members(first, low.searchsorted(end, "left") - first)
    begin: Int64s = np.maximum(low[interval], start[row])
    high = np.append(low[1:], NO_LIMIT)
    length = np.minimum(high[interval], end[row]) - begin
    if not (kept := length > 0).all():
        row, interval, begin, length = row[kept], interval[kept], begin[kept], length[kept]
    return row, interval, begin, length
