"""Strategy ``timestamp``: the target's first record that is not older than the source's first unread one.

For topics with records of one origin, also from a mirror that stamps no headers. The mirror keeps the order, so the
copy of the first unread record stands at or after the answer, whatever the timestamps are: equal and disordered ones
repeat records, they lose none. Records of a second origin lie between them in another order, and would be lost::

    source     time  5  6  6  6  7        a commit at the second 6 would get the target's first 6, one too early;
    target     time  5  6  6  6  7        as both logs hold three of them, it gets the target's second 6

That they are the same three is certain only once the source has a later time: its index may end among them, and the
mirror have dropped one. Where the answer is compared with that of the headers afterwards, it is done in any case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.index.time_index import Ranked, TimeIndex


@dataclass(frozen=True)
class TimedAnswers:
    """One answer per commit, all arrays of shape (commits,).

    *duplicates* supposes that the mirror sent each record once, *duplicates_at_most* supposes nothing.
    *is_disordered*: a greater timestamp stands before the commit. *is_exact*: no read record is as new as the first
    unread one, or the answer could be told apart among equal timestamps.
    """

    offset: Int64s
    duplicates: Int64s
    duplicates_at_most: Int64s
    is_disordered: NDArray[np.bool_]
    is_exact: NDArray[np.bool_]


def answer_by_timestamp(
    committed: Int64s, source: TimeIndex, target: TimeIndex, target_frontier: int, *, is_checked: bool
) -> TimedAnswers:
    """Answer every *committed* offset, shape (commits,); *target_frontier* where the target has nothing as new.

    *is_checked*: somebody sees to it that no answer is too late, so the last records of one time are counted off too.
    At the source's end there is no unread record, so the time of its last one is taken. Errs to the small side where
    a stretch of several timestamps hides their order.
    """
    if len(target) == 0 or len(source) == 0:
        return _nothing_to_compare(committed, target, target_frontier)
    row = np.searchsorted(source.end, committed, "right")
    at_ms = np.append(source.least_ms, source.least_ms[-1])[row]
    first = np.searchsorted(target.greatest_to, at_ms, "left")
    has_any = first < len(target)
    offset = np.append(target.start, target_frontier)[first]
    placed, is_placed = _within_equal(committed, at_ms, source, target, first)
    # Where the source's index ends with records of that time there may be more of them: then the first one counts.
    is_placed &= is_checked | (at_ms < source.greatest_to[-1])
    answer = np.where(is_placed, placed, offset)
    before = np.concatenate(([np.iinfo(np.int64).min], source.greatest_to))[row]
    from_row = np.searchsorted(source.greatest_to, at_ms, "left")
    read = source.records_below(committed) - source.records_below(np.append(source.start, committed.max())[from_row])
    at_most = _not_newer(target, answer, before, source, committed)
    # The target may lack what was read at the time of the answer.
    duplicates = np.where(is_placed | ~has_any, 0, np.clip(read, 0, at_most))
    return TimedAnswers(answer, duplicates, at_most, before > at_ms, has_any & (duplicates == 0))


def _nothing_to_compare(committed: Int64s, target: TimeIndex, target_frontier: int) -> TimedAnswers:
    """Answer where one log is empty: nothing of the source is read, or everything of the target is."""
    none, no = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.bool_)
    start = int(target.start[0]) if len(target) else target_frontier
    return TimedAnswers(np.full(len(committed), start, np.int64), none, none, no, no)


def _within_equal(
    committed: Int64s, at_ms: Int64s, source: TimeIndex, target: TimeIndex, first: NDArray[np.intp]
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Return the answer among records of equal timestamps, and for which commits it can be trusted.

    It can where both logs hold the same number of records of that timestamp.
    """
    earliest = int(at_ms.min())
    here, there = (Ranked(log, int(np.searchsorted(log.greatest_to, earliest, "left"))) for log in (source, target))
    is_same = (first < len(target)) & (here.is_known and there.is_known)
    is_same &= np.append(target.least_ms, 0)[first] == at_ms
    count = here.count(at_ms)
    is_same &= (count > 0) & (count == there.count(at_ms))
    chosen = np.flatnonzero(is_same)
    placed = np.zeros(len(committed), np.int64)
    if len(chosen):
        placed[chosen] = there.offset_of(here.rank(committed[chosen], at_ms[chosen]), at_ms[chosen])
    return placed, is_same


def _not_newer(target: TimeIndex, answer: Int64s, before: Int64s, source: TimeIndex, committed: Int64s) -> Int64s:
    """Return how many records lie between the *answer* and the target's last one that may have been read.

    A record may have been read if it is not newer than everything that the group has read. *before* is the greatest
    timestamp of the source's stretches that are read whole; one that is read in part counts with its greatest.
    """
    row = np.searchsorted(source.end, committed, "right")
    is_inside = np.append(source.start, np.iinfo(np.int64).max)[row] < committed
    newest = np.where(is_inside, np.maximum(before, np.append(source.most_ms, 0)[row]), before)
    first_row = int(np.searchsorted(target.end, answer.min(), "right"))
    # The least timestamp from each stretch on never falls, so what may have been read ends with a sorted search.
    least_from = np.minimum.accumulate(target.least_ms[first_row:][::-1])[::-1]
    beyond = np.searchsorted(least_from, newest, "right")
    ends = np.concatenate(([0], target.end[first_row:]))[beyond]
    found: Int64s = np.maximum(target.records_below(ends) - target.records_below(answer), 0)
    return found
