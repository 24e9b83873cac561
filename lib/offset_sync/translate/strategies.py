"""The strategies beside ``exact``: what they answer, when they may be used, and the rule for idle topics.

Where the mirror's headers tell which record is which, a strategy's answers are compared with t(c): an earlier one is
used, a later one is refused. Without headers nothing but the mirror's promise to keep the order protects them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, State
from offset_sync.translate.exact import Answers
from offset_sync.translate.header_strategy import answer_by_header
from offset_sync.translate.identity_strategy import reason_against_copies
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.timestamp_strategy import answer_by_timestamp


class Strategy(NamedTuple):
    """A strategy's *name* and its settings.

    *look_back* is how many records before the commit ``header`` searches. A log is idle when none of its records was
    indexed after *idle_since_ms* (since the epoch). *original* is the code of the cluster of which the others hold
    copies (``identity``).
    """

    name: str = "exact"
    look_back: int = 0
    idle_since_ms: int = 0
    original: int = ABSENT


EXACT = Strategy()


@dataclass(frozen=True)
class Choice:
    """What a strategy answers; all arrays have shape (commits,).

    *offset* is negative where it finds nothing to go by (:attr:`is_found` False). *is_disordered*: a greater timestamp
    stands before the commit. *is_exact*: the strategy itself knows that no later answer would be safe.
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
    """Return whether some record says that it was produced elsewhere: then the mirror stamps headers."""
    return bool(source.index.origins - {source.origin} or target.index.origins - {target.origin})


def reason_to_refuse(strategy: Strategy, source: PartitionLog, target: PartitionLog) -> State | None:
    """Return why a strategy could lose records of this partition, None if it could not.

    It is judged by the origins seen in the logs, whatever the commit. Errs to refusing the whole partition.
    """
    if strategy.name == "identity":
        if target.metadata.cut_at is not None:
            return State.LOG_TRUNCATED  # which log is a copy of which is not told below a cut
        return reason_against_copies(strategy.original, source, target)
    seen = source.index.origins | target.index.origins
    if strategy.name == "timestamp":
        is_safe = all(len(log.index.origins) <= 1 for log in (source, target))
    else:
        is_safe = seen <= {source.origin, target.origin}
    return None if is_safe else State.STRATEGY_REFUSED


def choose(strategy: Strategy, committed: Int64s, source: PartitionLog, target: PartitionLog) -> Choice:
    """Return the strategy's answers to the *committed* offsets, shape (commits,), in the order asked.

    Errs to the small side, as long as :func:`reason_to_refuse` has nothing against the strategy.
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
    return Choice(
        offset if cut_at is None else np.minimum(offset, cut_at),
        choice.is_disordered,
        choice.is_exact | is_idle,
        np.where(is_idle, 0, choice.duplicates),
        np.where(is_idle, 0, choice.duplicates_at_most),
    )


def unverified(choice: Choice, committed: Int64s, source: PartitionLog, target: PartitionLog) -> Answers:
    """Return the answers for a topic whose records cannot be told apart, less what retention has deleted.

    Nothing checks them but the mirror's promise to keep the order; shapes (commits,).
    """
    start, times = np.full(len(committed), target.log_start, np.int64), target.index.times or TimeIndex()
    deleted = np.maximum(times.records_below(start) - times.records_below(choice.offset), 0)
    is_at_frontier = choice.offset >= target.index.frontier
    return Answers(
        offset=choice.offset,
        clamped_offset=np.maximum(choice.offset, target.log_start),
        at_frontier=is_at_frontier,
        index_behind=committed > source.index.frontier,
        # What is read stands first, so it is deleted first.
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
        timed = answer_by_timestamp(committed, here, there, target.index.frontier, is_checked=is_checked)
        return Choice(timed.offset, timed.is_disordered, timed.is_exact, timed.duplicates, timed.duplicates_at_most)
    no, zero = np.zeros(len(committed), np.bool_), np.zeros(len(committed), np.int64)
    offset = answer_by_header(committed, source.index, target_origin=target.origin, look_back=strategy.look_back)
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
