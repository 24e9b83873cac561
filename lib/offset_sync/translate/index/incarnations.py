"""Incarnations of a log: a recreated topic, or a log truncated and grown again, has other records at the same offsets.

A mirror's header names an origin and an offset there, not an incarnation of that log. Rows indexed before an
incarnation was noticed are of an earlier one, because the indexer queries the origin *after* reading and before
storing. Copies of the earlier one may be in flight through a mirror for a while longer. Up to the end that the log of
copies had when that while was over, the incarnation of a copy is unknown, and it is unread by every group::

    log of copies    ......|<- noticed        |<- its end a while later     ......
    offset >= begin  a copy of the former one | unknown                     a copy of the present one
    offset < begin   the same record in both incarnations
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs

_NO_END = np.iinfo(np.int64).max


class Incarnation(NamedTuple):
    """A log has other records from *begins_at* on since *noticed_ms* (since the epoch, the indexing job's clock).

    *topic_id* is that of the topic since then. *is_recreated*: the topic was recreated; else the log was truncated.
    """

    begins_at: int
    noticed_ms: int
    topic_id: str
    is_recreated: bool


def true_below(indexed_at_ms: Int64s, incarnations: Sequence[Incarnation]) -> Int64s:
    """Return the offset below which each row of a log is still valid, by when it was indexed; shape (rows,)."""
    limit = np.full(len(indexed_at_ms), _NO_END, np.int64)
    for incarnation in incarnations:
        limit = np.where(indexed_at_ms <= incarnation.noticed_ms, np.minimum(limit, incarnation.begins_at), limit)
    return limit


def kept_lengths(start: Int64s, length: Int64s, indexed_at_ms: Int64s, incarnations: Sequence[Incarnation]) -> Int64s:
    """Return how much of each row of a log is still valid, shape (rows,); -1 for a row that is not at all.

    Rows of a log's own index are of the incarnation in which they were read, because the indexing job records each
    before its first row. *incarnations* are by ascending time.
    """
    limit = true_below(indexed_at_ms, incarnations)
    is_gone = (start > limit) | ((start == limit) & (length > 0))
    return np.where(is_gone, np.int64(-1), np.minimum(length, limit - start))


def lost_copies(rows: Runs, incarnations: Sequence[Incarnation]) -> Runs:
    """Return what truncations have removed of *rows* of a log: copies of other logs' records, and unknown ones.

    A group that commits there later may not have read them, and their origin still has them. For a recreated topic
    nothing counts as lost: its readers start over too.
    """
    columns = (rows.start, rows.length, rows.indexed_at_ms)
    first = np.maximum(kept_lengths(*columns, [each for each in incarnations if not each.is_recreated]), 0)
    end = np.maximum(
        kept_lengths(*columns, [incarnation for incarnation in incarnations if incarnation.is_recreated]), 0
    )
    lost = replace(rows.from_inside(first), length=end - first)
    return lost.take(lost.length > 0)


def split_by_incarnation(
    copies: Runs, incarnations: Sequence[Incarnation], settled_from: Sequence[int]
) -> tuple[Runs, Int64s]:
    """Return copies of one origin, cut where an incarnation begins, and the incarnation of each, shape (runs,).

    *settled_from* is, for each of *incarnations*, the offset of the copies' log from which on none is of an earlier
    one. An incarnation's number is 0 for the present one and ``-1 - i`` for one that ended where ``incarnations[i]``
    began. A copy that may be of either has an unknown origin. Errs to unknown, which is unread by every group.
    """
    for incarnation in incarnations:
        copies = _cut_at(copies, incarnation.begins_at)
    former = np.zeros(len(copies), np.int64)
    origin = copies.origin.copy()
    for number, incarnation in reversed(list(enumerate(incarnations))):  # the first one that ended it counts
        is_concerned = copies.origin_start >= incarnation.begins_at
        is_earlier = copies.indexed_at_ms <= incarnation.noticed_ms
        former[is_concerned & is_earlier] = -1 - number
        origin[is_concerned & ~is_earlier & (copies.start < settled_from[number])] = UNKNOWN_ORIGIN
    is_unknown = origin == UNKNOWN_ORIGIN
    origin_start = np.where(is_unknown, copies.start, copies.origin_start)
    return replace(copies, origin=origin, origin_start=origin_start), np.where(is_unknown, 0, former)


def _cut_at(runs: Runs, origin_offset: int) -> Runs:
    """Return *runs* with those that hold records on both sides of *origin_offset* cut there."""
    across = (runs.origin_start < origin_offset) & (runs.origin_start + runs.length > origin_offset)
    if not across.any():
        return runs
    below = np.where(across, origin_offset - runs.origin_start, runs.length)
    above = runs.take(across).from_inside(below[across])
    parts = replace(runs, length=below).followed_by(above)
    return parts.take(np.argsort(parts.start, kind="stable"))
