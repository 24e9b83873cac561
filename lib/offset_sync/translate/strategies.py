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
from offset_sync.translate.index.runs import Int64s, Runs
from offset_sync.translate.index.time_index import TimeIndex
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
        at_frontier=is_at_frontier,
        index_behind=committed > source.index.frontier,
        # Read records come first, so they are deleted first.
        duplicates=np.maximum(choice.duplicates - deleted, 0),
        duplicates_at_most=np.maximum(choice.duplicates_at_most - deleted, 0),
        lost=np.maximum(deleted - choice.duplicates, 0),
        is_exact=choice.is_exact | is_at_frontier,
    )


def _answers_of(strategy: Strategy, committed: Int64s, source: PartitionLog, target: PartitionLog) -> Choice:
    here, there = source.index.times, target.index.times
    if strategy.name == "timestamp" and here is not None and there is not None:
        return answer_by_timestamp(committed, here, there, target.index.frontier)
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

    Near enough are the first record at or above the commit and those of the *look_back* offsets before it; shapes
    (commits,). With two clusters it never answers later than t(c), so it errs to duplicates. Page by page: few are held
    at a time.
    """
    found, page = np.empty(len(committed), np.int64), source.paged.pages.end.searchsorted(committed, "right")
    for each in np.unique(page).tolist():
        rows = page == each
        runs = source.paged.near(int(committed[rows].min()) - look_back, int(committed[rows].max()))
        found[rows] = _by_references(committed[rows], runs, target_origin, look_back)
    return found


def _by_references(committed: Int64s, runs: Runs, target_origin: int, look_back: int) -> Int64s:
    references = np.flatnonzero(runs.origin == target_origin)
    if len(references) == 0:
        return np.full(len(committed), ABSENT, np.int64)
    row = np.searchsorted(runs.end, committed, "right")
    here = np.minimum(row, len(runs) - 1)
    at_commit = (runs.origin[here] == target_origin) & (row < len(runs))
    into = np.maximum(committed - runs.start[here], 0)
    number = np.searchsorted(runs.end[references], committed, "right") - 1
    before = references[np.maximum(number, 0)]
    is_near = (number >= 0) & (committed - runs.end[before] < look_back)
    after_it = np.where(is_near, (runs.origin_start + runs.length)[before], ABSENT)
    return np.where(at_commit, runs.origin_start[here] + into, after_it)


def answer_by_timestamp(committed: Int64s, source: TimeIndex, target: TimeIndex, target_frontier: int) -> Choice:
    """Answer with the first record of the target that is not older than the first unread one; shapes (commits,).

    *target_frontier* where the target has nothing as new. At the source's end there is no unread record, so the time of
    its last one is taken. An answer is exact if no read record is as new as the first unread one. Where one log is
    empty nothing of the source is read, or everything of the target is. Errs to the small side: records of equal
    timestamps are repeated, and those of a stretch whose order is hidden.
    """
    if len(target) == 0 or len(source) == 0:
        return _uncounted(np.full(len(committed), target.start[0] if len(target) else target_frontier, np.int64))
    row, greatest = np.searchsorted(source.end, committed, "right"), source.greatest_to
    at_ms = np.append(source.least_ms, source.least_ms[-1])[row]
    first = np.searchsorted(target.greatest_to, at_ms, "left")
    answer = np.append(target.start, target_frontier)[first]
    as_new = source.start[np.searchsorted(greatest, at_ms, "left")]
    greatest = np.concatenate(([np.iinfo(np.int64).min], greatest))
    # A stretch that is read in part counts with its greatest timestamp.
    is_inside = np.append(source.start, np.iinfo(np.int64).max)[row] < committed
    at_most = _not_newer(target, answer, greatest[row + is_inside])
    # The target may not have what was read at the time of the answer, and has nothing of it beyond its index.
    read = np.clip(source.records_below(committed) - source.records_below(as_new), 0, at_most)
    return Choice(answer, greatest[row] > at_ms, read == 0, read, at_most)


def _not_newer(target: TimeIndex, answer: Int64s, newest: Int64s) -> Int64s:
    """Return how many records are between the *answer* and the target's last one that may have been read.

    A record may have been read if it is not newer than the *newest* that the group has read.
    """
    first_row = int(np.searchsorted(target.end, answer.min(), "right"))
    # The least timestamp from each stretch on never falls, so what may have been read ends with a sorted search.
    least_from = np.minimum.accumulate(target.least_ms[first_row:][::-1])[::-1]
    beyond = np.searchsorted(least_from, newest, "right")
    ends = np.concatenate(([0], target.end[first_row:]))[beyond]
    found: Int64s = np.maximum(target.records_below(ends) - target.records_below(answer), 0)
    return found
