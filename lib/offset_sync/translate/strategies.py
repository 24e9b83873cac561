"""The strategies beside ``exact``: what they answer, when they may be used, and the rule for idle topics.

Where the mirror's headers tell which record is which, their answers are compared with t(c): an earlier one is taken,
a later one refused. Without headers only the order of the records, which is the mirror's promise, protects them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import State
from offset_sync.translate.exact import Answers
from offset_sync.translate.header_strategy import answer_by_header
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.preconditions import PartitionMetadata
from offset_sync.translate.timestamp_strategy import answer_by_timestamp


@dataclass(frozen=True)
class Strategy:
    """A strategy and its settings; *idle_since_ms*: a log without a record indexed after it has gone quiet."""

    name: str = "exact"
    look_back: int = 0
    idle_since_ms: int = 0


EXACT = Strategy()


@dataclass(frozen=True)
class Choice:
    """What a strategy answers, shape (commits,) each; *offset* is negative where it finds nothing to go by."""

    offset: Int64s
    is_disordered: NDArray[np.bool_]
    is_exact: NDArray[np.bool_]
    duplicates: Int64s
    duplicates_at_most: Int64s


@dataclass(frozen=True)
class Logs:
    """Both logs of a partition; the codes are those of the clusters' own records."""

    source: LogIndex
    target: LogIndex
    source_origin: int
    target_origin: int

    @property
    def is_stamped(self) -> bool:
        """True where some record says that it comes from elsewhere: the mirror stamps headers."""
        return bool(self.source.origins - {self.source_origin} or self.target.origins - {self.target_origin})


def reason_to_refuse(strategy: Strategy, logs: Logs) -> State | None:
    """Return why a strategy could lose records of a partition, whatever the commit: the origins seen in it."""
    if strategy.name == "timestamp":
        is_safe = all(len(log.origins) <= 1 for log in (logs.source, logs.target))
    else:
        is_safe = logs.source.origins | logs.target.origins <= {logs.source_origin, logs.target_origin}
    return None if is_safe else State.STRATEGY_REFUSED


def choose(
    strategy: Strategy, committed: Int64s, logs: Logs, source: PartitionMetadata | None, target: PartitionMetadata
) -> Choice:
    """Return the strategy's answers; *source* None: its cluster cannot be asked."""
    if strategy.name == "timestamp" and logs.source.times is not None and logs.target.times is not None:
        timed = answer_by_timestamp(committed, logs.source.times, logs.target.times, logs.target.frontier)
        choice = Choice(
            timed.offset, timed.is_disordered, timed.is_exact, timed.duplicates, timed.duplicates_at_most
        )  # fmt: skip
    else:
        no, zero = np.zeros(len(committed), np.bool_), np.zeros(len(committed), np.int64)
        offset = answer_by_header(
            committed, logs.source, target_origin=logs.target_origin, look_back=strategy.look_back
        )
        choice = Choice(offset, no, no, zero, zero)
    # Before its first record nothing is read, and where the target holds nothing everything is.
    first = int(logs.source.runs.start[0]) if len(logs.source.runs) else logs.source.frontier
    offset = np.where((choice.offset < 0) & (committed <= first), target.log_start, choice.offset)
    if len(logs.target.runs) == 0:
        offset = np.full(len(committed), logs.target.frontier, np.int64)
    is_idle = _is_idle(strategy, logs, source, target) & (committed >= (source.log_end if source else 0))
    return Choice(
        np.where(is_idle, target.log_end, offset),
        choice.is_disordered,
        choice.is_exact | is_idle,
        np.where(is_idle, 0, choice.duplicates),
        np.where(is_idle, 0, choice.duplicates_at_most),
    )


def unverified(choice: Choice, committed: Int64s, logs: Logs, target: PartitionMetadata) -> Answers:
    """Return the answers of a topic whose records cannot be told apart, with what retention has taken of them."""
    start, times = np.full(len(committed), target.log_start, np.int64), logs.target.times or TimeIndex()
    gone = np.maximum(times.records_below(start) - times.records_below(choice.offset), 0)
    return Answers(
        offset=choice.offset,
        clamped_offset=np.maximum(choice.offset, target.log_start),
        at_frontier=choice.offset >= logs.target.frontier,
        index_behind=committed > logs.source.frontier,
        # What is read of it stands first.
        duplicates=np.maximum(choice.duplicates - gone, 0),
        duplicates_at_most=np.maximum(choice.duplicates_at_most - gone, 0),
        lost=np.maximum(gone - choice.duplicates, 0),
        is_t=choice.is_exact | (choice.offset >= logs.target.frontier),
        is_too_late=np.zeros(len(committed), np.bool_),
    )


def _is_idle(strategy: Strategy, logs: Logs, source: PartitionMetadata | None, target: PartitionMetadata) -> bool:
    """Return whether both logs are quiet and indexed to their ends, and the target has nothing newer."""
    if source is None or logs.source.frontier < source.log_end or logs.target.frontier < target.log_end:
        return False
    if max(logs.source.grew_at_ms, logs.target.grew_at_ms) > strategy.idle_since_ms:
        return False
    here, there = logs.source.times, logs.target.times
    if strategy.name != "timestamp" or here is None or there is None or len(there) == 0:
        return True
    return len(here) > 0 and bool(there.greatest_to[-1] <= here.greatest_to[-1])
