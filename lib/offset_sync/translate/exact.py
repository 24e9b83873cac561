"""The core theorem: t(c), the first record of the target that a group has not read.

``f(y)`` is the offset in the source's log of the record at offset ``y`` of the target, ``F`` its running maximum. A
committed offset c means that everything below c is read, so ``t(c)`` is the first y with ``F(y) >= c``, or the target's
index frontier where there is none. Everything below t(c) is read and the record at t(c) is not, so no later answer is
safe and no earlier one is needed. All errors are to the small side: reading a record twice is a nuisance, never reading
it is a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s, Runs
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import cut_pieces
from offset_sync.translate.read_window import ReadWindow, possible_duplicates


class Bounds(NamedTuple):
    """What a translation may assume.

    *young_since_ms* (since the epoch): a hole that became visible after this moment may still be filled, so its records
    count as unread. *window_start* promises that all commits have read the target below this offset; only records above
    are examined, so the cost depends on the window and not on the age of the index. *origins* are codes of clusters
    that may have produced records beside source and target. *begun*: the offset from which on the log of an origin, by
    code, had other records in a former incarnation. The target's own is left out.
    """

    young_since_ms: int
    window_start: int = 0
    origins: AbstractSet[int] = frozenset()
    begun: Mapping[int, int] = MappingProxyType({})


class Strategy(NamedTuple):
    """A strategy's *name* and its settings.

    *look_back* is how many offsets before the commit ``header`` searches. A log is idle when none of its records was
    indexed after *idle_since_ms* (since the epoch).
    """

    name: str = "exact"
    look_back: int = 0
    idle_since_ms: int = 0


EXACT = Strategy()


class Answers(NamedTuple):
    """One answer per committed offset, in the order asked; all arrays have shape (commits,).

    *offset* is t(c), or an earlier offset that another strategy chose (*is_exact* False); it may be below the target's
    log start.

    *duplicates* counts the records at or above the answer that the group has read. *duplicates_at_most* adds those it
    may have read: where the source's index is behind the commit, or headers were unreadable on either side. *lost*
    counts the unread records below the log start that the source still has, or may have. *has_young_hole*: a hole in
    the window is too young to count as one, so the answers may still move forward.
    """

    offset: Int64s
    at_frontier: NDArray[np.bool_]
    index_behind: NDArray[np.bool_]
    duplicates: Int64s
    duplicates_at_most: Int64s
    lost: Int64s
    is_exact: NDArray[np.bool_]
    has_young_hole: bool = False


def translate(committed: Int64s, source: PartitionLog, target: PartitionLog, bounds: Bounds) -> Answers:
    """Translate the *committed* offsets of one partition, shape (commits,), from *source*'s log to *target*'s.

    Promises no loss and the fewest duplicates: each answer is t(c). If the source is not indexed, only the records
    produced there are known to be read. Errs to the small side where an index is behind.
    """
    window = ReadWindow(committed, source, target, bounds.young_since_ms, bounds.window_start)
    return _with_costs(window, window.stop, window.below)


def translate_no_later(
    committed: Int64s, chosen: Int64s, source: PartitionLog, target: PartitionLog, bounds: Bounds
) -> Answers:
    """Answer with the *chosen* offsets of another strategy where these are earlier than t(c), else with t(c).

    Negative ones count as not chosen. Shapes (commits,). Below t(c) everything is read, so an earlier answer repeats
    records and loses none.
    """
    lowest = int(chosen[chosen >= 0].min(initial=bounds.window_start))
    window = ReadWindow(committed, source, target, bounds.young_since_ms, min(bounds.window_start, lowest))
    is_exact = (chosen < 0) | (chosen >= window.stop)
    offset = np.where(is_exact, window.stop, chosen)
    below = np.where(is_exact, window.below, window.records_below(chosen))
    answers = _with_costs(window, offset, below)
    return answers._replace(is_exact=is_exact)


def _with_costs(window: ReadWindow, offset: Int64s, below: Int64s) -> Answers:
    """Count what resuming at *offset*, or at the log start where that is later, repeats and loses.

    Everything below *offset* is read: *below* records of the window. The other read records are repeated.
    """
    log_start = window.target.log_start
    is_clamped = offset < log_start
    duplicates = window.read - np.where(is_clamped, window.read_deleted, below)
    return Answers(
        offset=offset,
        at_frontier=window.at_frontier,
        index_behind=(window.committed > window.source.index.frontier) & (window.unknown > 0),
        duplicates=duplicates,
        duplicates_at_most=duplicates + possible_duplicates(window),
        lost=np.where(is_clamped, _lost(window), 0),
        is_exact=np.ones(len(offset), np.bool_),
        has_young_hole=window.has_young_hole,
    )


def _lost(window: ReadWindow) -> Int64s:
    """Count the unread records that the target has deleted and the source has not.

    What both have deleted no group can read anyway. Errs to too many: if records came late or again at the source,
    another copy may be above its log start, so all count, as they do if the source does not answer.
    """
    lost, readable = window.deleted - window.read_deleted, np.maximum(window.committed, window.source.log_start)
    rows = np.flatnonzero((lost > 0) & (readable > window.committed))
    if len(rows) and window.source.index.reorder_count() == 0:
        lost[rows] = window.deleted - window.of_others(readable[rows]).read_deleted
    return lost


def needs_of_unindexed(source: PartitionLog, target: PartitionLog, bounds: Bounds) -> int:
    """Return the lowest commit for which everything *below* the target's index can be taken as read.

    An index that began late (``index.starting: latest``) has none of the records before it. The mirror keeps the order
    per origin, so all of them are read once the group has passed the first indexed record of each origin::

        target X   x0 x1 | x2 y0           the index begins at x2
        source Y   y0 x2                   x0 and x1 never came to Y, or were truncated there
                   commit 1                x0 and x1 are unread
                   commit 2                x2 is read, so the holes x0 and x1 count as read

    The source's own records are never holes there: reaching the first one is enough. ``NO_LIMIT`` if an origin has no
    indexed record, or the target's first own one is a copy that came back, or if copies below the index may be lost at
    the source or of a former incarnation of their origin. Errs to the large side, which withholds the answer.
    """
    first_runs = target.index.first_runs()
    is_known = {source.origin, target.origin} | bounds.origins <= target.index.origins
    is_doubtful = _may_differ(first_runs, source, bounds) | _is_echo(first_runs, target.origin)
    if not is_known or source.index.last_unknown >= NO_LIMIT or is_doubtful.any():
        return NO_LIMIT
    pieces = cut_pieces(first_runs, source, bounds.young_since_ms)
    first = np.searchsorted(pieces.start, first_runs.start)
    passed = pieces.needs[first] + (first_runs.origin != source.origin)
    return int(passed.max())


def _is_echo(first_runs: Runs, origin: int) -> NDArray[np.bool_]:
    """Return which *first_runs* are copies that came back to their *origin*: later records of it may be below."""
    found: NDArray[np.bool_] = (first_runs.origin == origin) & (first_runs.start != first_runs.origin_start)
    return found


def _may_differ(first_runs: Runs, source: PartitionLog, bounds: Bounds) -> NDArray[np.bool_]:
    """Return for which *first_runs* earlier copies may be lost at the source, or of a former incarnation."""
    same_below = [
        min(source.index.lowest_lost(each), bounds.begun.get(each, NO_LIMIT)) for each in first_runs.origin.tolist()
    ]
    return first_runs.origin_start > np.array(same_below, np.int64)
