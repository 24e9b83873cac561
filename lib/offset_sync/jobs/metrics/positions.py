"""The sync progress of the group partitions of every pair: computed at each scrape, and summed up in the log."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from prometheus_client.metrics_core import Metric

from offset_sync.jobs.metrics.endpoint import add_worst, gauge
from offset_sync.jobs.metrics.sync import HAS_IT, PAIR, CommitLatency, SyncMetrics
from offset_sync.model.text import to_count, to_duration
from offset_sync.model.values import GroupPartition, Outcome, State
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
PENDING = len(Outcome)
OUTCOME_NAMES = (*(outcome.name for outcome in Outcome), "PENDING")
"""Outcomes by code, and the word for a commit without one."""
_LACKS = np.append(~HAS_IT, True)


@dataclass(frozen=True)
class PairPositions:
    """The group partitions of one pair, shape (rows,); *stale_ms* is 0 where the target is up to date.

    *state* is valid where *is_answered*: the newest commit has an answer; the counts are 0 elsewhere. *key* are rows of
    *keys*.
    """

    pair: tuple[str, str]
    key: KeyRows
    keys: Sequence[GroupPartition]
    outcome: NDArray[np.intp]
    stale_ms: Int64s
    is_answered: NDArray[np.bool_]
    state: NDArray[np.intp]
    duplicates: Int64s
    lost: Int64s

    def states(self) -> dict[State, int]:
        """Return how many answers have each state."""
        counts = np.bincount(self.state[self.is_answered], minlength=len(State)).tolist()
        return {state: counts[state] for state in State}

    def group_id(self, row: int) -> str:
        """Return the group of *row*."""
        return self.keys[int(self.key[row])].group_id


class Positions:
    """Collects the metrics of positions; the lock of *state* is held for a copy only."""

    def __init__(self, state: SyncState, latency: Mapping[tuple[str, str], CommitLatency]) -> None:
        self._state, self._latency = state, latency

    def collect(self) -> Iterator[Metric]:
        """Return the present positions."""
        pairs = self.by_pair()
        yield from _counts(pairs)
        yield from _staleness(pairs)
        yield from _costs(pairs)

    def by_pair(self) -> list[PairPositions]:
        """Return the group partitions of every pair as they are now."""
        with self._state.lock:
            return [self._pair(source, target, key) for source, target, key in self._state.owned()]

    def _pair(self, source: str, target: str, key: KeyRows) -> PairPositions:
        pair, commits = self._state.last(source, target).columns, self._state.commits(source, key)
        is_answered = (pair["source_offset"][key] == commits.offset) & (pair["outcome"][key] >= 0)
        is_answered &= pair["source_at_ms"][key] == commits.at_ms
        outcome = np.where(is_answered, pair["outcome"][key], PENDING)
        since_ms = self._latency[source, target].since_ms(key)
        # No pass of this driver has reconciled it yet.
        since_ms = np.where(since_ms < 0, commits.at_ms, since_ms)
        stale_ms = np.where(_LACKS[outcome], np.maximum(self._state.now_ms() - since_ms, 0), 0)
        costs = (np.where(is_answered, pair[name][key], 0) for name in ("duplicates", "lost"))
        keys = self._state.offsets.keys
        return PairPositions((source, target), key, keys, outcome, stale_ms, is_answered, pair["state"][key], *costs)


def _counts(pairs: Iterable[PairPositions]) -> Iterable[Metric]:
    text = "group partitions by outcome of their newest commit; PENDING: not answered yet"
    positions = gauge("positions", text, *PAIR, "outcome")
    withheld = gauge("withheld", "group partitions without an answer, by reason", *PAIR, "reason")
    for each in pairs:
        outcomes = np.bincount(each.outcome, minlength=len(OUTCOME_NAMES)).tolist()
        for name, count in zip(OUTCOME_NAMES, outcomes, strict=True):
            positions.add_metric([*each.pair, name], count)
        for state, count in each.states().items():
            if state.is_withheld:
                withheld.add_metric([*each.pair, state.name], count)
    return positions, withheld


def _staleness(pairs: Iterable[PairPositions]) -> Iterable[Metric]:
    text = "age of the oldest commit that the target does not have, by outcome; 0: it has all"
    oldest = gauge("staleness_seconds", text, *PAIR, "outcome")
    groups = gauge("group_staleness_seconds", "staleness of the worst groups", *PAIR, "outcome", "group_id")
    for each in pairs:
        for code in np.flatnonzero(_LACKS).tolist():
            age_ms = int(each.stale_ms[each.outcome == code].max(initial=0))
            oldest.add_metric([*each.pair, OUTCOME_NAMES[code]], age_ms / 1000)
        ages: dict[tuple[str, ...], float] = {}
        for row in np.flatnonzero(each.stale_ms).tolist():
            labels = (*each.pair, OUTCOME_NAMES[each.outcome[row]], each.group_id(row))
            ages[labels] = max(ages.get(labels, 0.0), int(each.stale_ms[row]) / 1000)
        add_worst(groups, ages)
    return oldest, groups


def _costs(pairs: Iterable[PairPositions]) -> Iterable[Metric]:
    duplicates = gauge("duplicates", "records that all groups would read again if moved now", *PAIR)
    groups = gauge("group_duplicates", "duplicates of the worst groups", *PAIR, "group_id")
    lost = gauge("lost", "unread records that the target has deleted and the source has not", *PAIR)
    for each in pairs:
        duplicates.add_metric(each.pair, int(each.duplicates.sum()))
        lost.add_metric(each.pair, int(each.lost.sum()))
        totals: Counter[tuple[str, ...]] = Counter()
        for row in np.flatnonzero(each.duplicates).tolist():
            totals[(*each.pair, each.group_id(row))] += int(each.duplicates[row])
        add_worst(groups, totals)
    return duplicates, groups, lost


class SyncSummary:
    """Formats the counts of *metrics* and the state of *positions*."""

    def __init__(self, state: SyncState, metrics: SyncMetrics, positions: Positions) -> None:
        self._state, self._metrics, self._positions = state, metrics, positions
        self._before: Counter[str] = Counter()

    def caught_up(self) -> str:
        """Return the line for when every log has been read to its end."""
        with self._state.lock:
            keys = len(self._state.offsets.keys)
            groups = len({key.group_id for key in self._state.offsets.keys})
        return f"every commit log is read to its end: syncing {to_count(keys)} partitions of {to_count(groups)} groups"

    def log(self) -> None:
        """Log the counts since the last call, the withheld keys, and the worst staleness per pair."""
        counts = self._metrics.totals()
        since, self._before = counts - self._before, counts
        stale = {pair.pair: int(pair.stale_ms.max(initial=0)) for pair in self._positions.by_pair()}
        worst = [f"{source} to {target} {to_duration(ms)}" for (source, target), ms in stale.items()]
        staleness = f"worst staleness: {', '.join(worst) or 'nothing to sync'}"
        logger.info("since the last summary: %s; %s; %s; %s", _work(since), self._withheld(), staleness, self._index())

    def ended(self) -> str:
        """Return the totals of a run with ``--once``."""
        return f"done: {_work(self._metrics.totals())}; {self._withheld()}; {self._index()}"

    def _index(self) -> str:
        with self._state.lock:
            logs = self._state.index.all_logs()
            runs = sum(log.run_count for log in logs.values())
        return f"the index has {to_count(runs)} runs of {to_count(len(logs))} logs"

    def _withheld(self) -> str:
        reasons: Counter[str] = Counter()
        for pair in self._positions.by_pair():
            reasons.update({state.name: count for state, count in pair.states().items() if state.is_withheld and count})
        return f"withheld: {_list(reasons) or 'none'}"


def _work(counts: Mapping[str, int]) -> str:
    outcomes = {outcome.name: counts[outcome.name] for outcome in Outcome if counts.get(outcome.name)}
    detail = f" ({_list(outcomes)})" if outcomes else ""
    return f"{to_count(counts.get('genuine', 0))} commits read, {to_count(sum(outcomes.values()))} answers{detail}"


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {to_count(count)}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
