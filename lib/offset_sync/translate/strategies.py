"""The strategies beside ``exact``: what they answer, when they may be used, and the rule for idle topics.

Where the mirror's headers tell which record is which, a strategy's answers are compared with t(c): an earlier one is
used, a later one is refused. Without headers they rely on the mirror to keep the order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, State
from offset_sync.translate.exact import Answers, Strategy
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.index.time_index import Ranked, TimeIndex
from offset_sync.translate.partition_log import PartitionLog


@dataclass(frozen=True)
class Choice:
    """What a strategy answers; all arrays have shape (commits,).

    *offset* is negative where it finds no reference (:attr:`is_found` False). *is_disordered*: a greater timestamp
    precedes the commit. *is_exact*: the strategy itself knows that no later answer would be safe. *duplicates* assumes
    that the mirror sent each record once, *duplicates_at_most* assumes nothing.
    """

    offset: Int64s
    is_disordered: NDArray[np.bool_]
    is_exact: NDArray[np.bool_]
    duplicates: Int64s
    duplicates_at_most: Int64s

    @property
    def is_found(self) -> NDArray[np.bool_]:
        """Where the strategy has an answer."""
        return self.offset >= 0


def is_stamped(source: PartitionLog, target: PartitionLog) -> bool:
    """Return whether some record has an origin elsewhere: then the mirror stamps headers."""
    return bool(source.index.origins - {source.origin} or target.index.origins - {target.origin})


def reason_to_refuse(strategy: Strategy, source: PartitionLog, target: PartitionLog) -> State | None:
    """Return why a strategy could lose records of this partition, None if it could not.

    It is judged by the origins seen in the logs, whatever the commit. Errs to refusing the whole partition.
    """
    if strategy.name == "timestamp":
        is_safe = all(len(log.index.origins) <= 1 for log in (source, target))
    else:
        is_safe = source.index.origins | target.index.origins <= {source.origin, target.origin}
    return None if is_safe else State.STRATEGY_REFUSED


def choose(strategy: Strategy, committed: Int64s, source: PartitionLog, target: PartitionLog) -> Choice:
    """Return the strategy's answers to the *committed* offsets, shape (commits,), in the order asked.

    Errs to the small side, if :func:`reason_to_refuse` returns None for the strategy.
    """
    choice = _answers_of(strategy, committed, source, target)
    # Before its first record nothing is read, and where the target holds nothing everything is.
    first = source.index.first_record
    first = source.index.frontier if first is None else first
    offset = np.where(~choice.is_found & (committed <= first), target.log_start, choice.offset)
    if target.index.first_record is None:
        offset = np.full(len(committed), target.index.frontier, np.int64)
    is_idle = _is_idle(strategy, source, target) & (committed >= source.metadata.log_end)
    cut_at = target.metadata.cut_at
    offset = np.where(is_idle, target.metadata.log_end, offset)
    return replace(
        choice,
        offset=offset if cut_at is None else np.minimum(offset, cut_at),
        duplicates=np.where(is_idle, 0, choice.duplicates),
        duplicates_at_most=np.where(is_idle, 0, choice.duplicates_at_most),
    )


def unverified(choice: Choice, committed: Int64s, source: PartitionLog, target: PartitionLog) -> Answers:
    """Return the answers for a topic whose records cannot be distinguished, less what retention has deleted.

    They rely on the mirror to keep the order; shapes (commits,).
    """
    start, times = np.full(len(committed), target.log_start, np.int64), target.index.times or TimeIndex()
    deleted = np.maximum(times.records_below(start) - times.records_below(choice.offset), 0)
    is_at_frontier = choice.offset >= target.index.frontier
    return Answers(
        offset=choice.offset,
        clamped_offset=np.maximum(choice.offset, target.log_start),
        at_frontier=is_at_frontier,
        index_behind=committed > source.index.frontier,
        # Read records come first, so they are deleted first.
        duplicates=np.maximum(choice.duplicates - deleted, 0),
        duplicates_at_most=np.maximum(choice.duplicates_at_most - deleted, 0),
        lost=np.maximum(deleted - choice.duplicates, 0),
        is_exact=choice.is_exact | is_at_frontier,
        is_too_late=np.zeros(len(committed), np.bool_),
    )


def _answers_of(strategy: Strategy, committed: Int64s, source: PartitionLog, target: PartitionLog) -> Choice:
    here, there = source.index.times, target.index.times
    if strategy.name == "timestamp" and here is not None and there is not None:
        is_checked = is_stamped(source, target)
        return answer_by_timestamp(committed, here, there, target.index.frontier, is_checked=is_checked)
    return _uncounted(
        answer_by_header(committed, source.index, target_origin=target.origin, look_back=strategy.look_back)
    )


def _uncounted(offset: Int64s) -> Choice:
    """Return *offset* as the answers, of which nothing else is known."""
    no, zero = np.zeros(len(offset), np.bool_), np.zeros(len(offset), np.int64)
    return Choice(offset, no, no, zero, zero)


def _is_idle(strategy: Strategy, source: PartitionLog, target: PartitionLog) -> bool:
    """Return whether both logs are quiet and indexed to their ends, and the target has nothing newer."""
    if any(log.index.frontier < log.metadata.log_end for log in (source, target)):
        return False
    if max(source.index.grew_at_ms, target.index.grew_at_ms) > strategy.idle_since_ms:
        return False
    here, there = source.index.times, target.index.times
    if strategy.name != "timestamp" or here is None or there is None or len(there) == 0:
        return True
    return len(here) > 0 and bool(there.greatest_to[-1] <= here.greatest_to[-1])


def answer_by_header(committed: Int64s, source: LogIndex, *, target_origin: int, look_back: int) -> Int64s:
    """Return a target offset per commit, ``ABSENT`` where no record near enough was produced at the target.

    Near enough are the first record at or above the commit and the *look_back* ones before it; shapes (commits,). With
    two clusters it never answers later than t(c), so it errs to duplicates. Page by page: few are held at a time.
    """
    found, page = np.empty(len(committed), np.int64), source.paged.pages.end.searchsorted(committed, "right")
    for each in np.unique(page).tolist():
        rows = page == each
        found[rows] = _answers(committed[rows], source, target_origin, look_back)
    return found


def _answers(committed: Int64s, source: LogIndex, target_origin: int, look_back: int) -> Int64s:
    """Return the same for commits in one page, or above all, of which there is at least one."""
    runs = source.paged.near(int(committed.min()), int(committed.max()), look_back + 1)
    if len(runs) == 0:
        return np.full(len(committed), ABSENT, np.int64)
    is_reference = runs.origin == target_origin
    row = np.searchsorted(runs.end, committed, "right")
    is_tail = row == len(runs)
    here = np.minimum(row, len(runs) - 1)
    into = np.where(is_tail, 0, np.maximum(committed - runs.start[here], 0))
    at_commit = is_reference[here] & ~is_tail

    # Counted from 1, so that 0 says that there is no reference before.
    number = np.maximum.accumulate(np.where(is_reference, np.arange(1, len(runs) + 1), 0))
    references_to = np.concatenate(([0], number))[row]
    is_found, before = references_to > 0, np.maximum(references_to - 1, 0)
    records_to = np.concatenate(([0], np.cumsum(runs.length)))
    distance = records_to[row] + into - records_to[before + 1] + 1
    is_near = is_found & (distance <= look_back)
    after_last = (runs.origin_start + runs.length)[before]
    found: Int64s = np.where(at_commit, runs.origin_start[here] + into, np.where(is_near, after_last, ABSENT))
    return found


def answer_by_timestamp(
    committed: Int64s, source: TimeIndex, target: TimeIndex, target_frontier: int, *, is_checked: bool
) -> Choice:
    """Answer every *committed* offset, shape (commits,); *target_frontier* where the target has nothing as new.

    An answer is exact if no read record is as new as the first unread one, or if it could be found among equal
    timestamps. Where one log is empty nothing of the source is read, or everything of the target is.

    *is_checked*: answers are limited to t(c) afterwards, so the last records of one time are counted off too. At the
    source's end there is no unread record, so the time of its last one is taken. Errs to the small side where a stretch
    of several timestamps hides their order.
    """
    if len(target) == 0 or len(source) == 0:
        return _uncounted(np.full(len(committed), target.start[0] if len(target) else target_frontier, np.int64))
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
    # The target may not have what was read at the time of the answer.
    duplicates = np.where(is_placed | ~has_any, 0, np.clip(read, 0, at_most))
    return Choice(answer, before > at_ms, has_any & (duplicates == 0), duplicates, at_most)


def _within_equal(
    committed: Int64s, at_ms: Int64s, source: TimeIndex, target: TimeIndex, first: NDArray[np.intp]
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Return the answer among records of equal timestamps, and for which commits it is valid.

    It is where both logs hold the same number of records of that timestamp.
    """
    earliest = int(at_ms.min())
    here, there = (Ranked(log, int(np.searchsorted(log.greatest_to, earliest, "left"))) for log in (source, target))
    # Some record here has each time, so where the target has none as new the counts differ.
    is_same = (here.count(at_ms) == there.count(at_ms)) & (here.is_known and there.is_known)
    is_same &= np.append(target.least_ms, 0)[first] == at_ms
    chosen = np.flatnonzero(is_same)
    placed = np.zeros(len(committed), np.int64)
    if len(chosen):
        placed[chosen] = there.offset_of(here.rank(committed[chosen], at_ms[chosen]), at_ms[chosen])
    return placed, is_same


def _not_newer(target: TimeIndex, answer: Int64s, before: Int64s, source: TimeIndex, committed: Int64s) -> Int64s:
    """Return how many records are between the *answer* and the target's last one that may have been read.

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
