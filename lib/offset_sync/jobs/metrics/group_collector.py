"""How the group partitions of every pair stand, worked out when Prometheus asks."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.jobs.metrics import catalog
from offset_sync.jobs.metrics.commit_latency import HAS_IT, CommitLatency
from offset_sync.jobs.metrics.samples import Family, Samples, to_label
from offset_sync.model.values import GroupPartition, Outcome, State
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.translate.index.growable_array import GrowingArray
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD

PENDING = len(Outcome)
OUTCOME_NAMES = (*(outcome.name for outcome in Outcome), "PENDING")
"""Outcomes by code, and what a commit is before it has one."""
_LACKS = [code for code in range(len(OUTCOME_NAMES)) if code == PENDING or not HAS_IT[code]]


@dataclass(frozen=True)
class PairPositions:
    """The group partitions of one pair, shape (keys,); *since_ms* is ABSENT where the target lacks nothing.

    *state* and the counts hold where *is_answered*: the newest commit has an answer.
    """

    pair: tuple[str, str]
    group: NDArray[np.intp]
    outcome: NDArray[np.intp]
    since_ms: Int64s
    is_answered: NDArray[np.bool_]
    state: NDArray[np.intp]
    duplicates: Int64s
    duplicates_at_most: Int64s
    lost: Int64s

    def withheld(self) -> dict[str, int]:
        """Return how many are withheld, by reason."""
        counts = np.bincount(self.state[self.is_answered], minlength=len(State)).tolist()
        return {state.name: counts[state] for state in State if state.is_withheld and counts[state]}

    def worst_staleness_ms(self, now_ms: int) -> int:
        """Return for how long the target has lacked the oldest commit that it lacks, 0 where it lacks none."""
        since = self.since_ms[np.isin(self.outcome, _LACKS) & (self.since_ms >= 0)]
        return max(0, now_ms - int(since.min())) if len(since) else 0


class Positions:
    """Collects the metrics of positions; the lock of *state* is held for a copy only."""

    def __init__(self, state: SyncState, latency: Mapping[tuple[str, str], CommitLatency], worst: int) -> None:
        self._state, self._latency, self._worst = state, latency, worst
        self._groups = _GroupNumbers()
        self._scraping = threading.Lock()

    def collect(self) -> Iterable[Family]:
        """Return how everything stands now."""
        samples = Samples(catalog.POSITION_METRICS)
        for positions in self.by_pair():
            _add_counts(samples, positions)
            _add_staleness(samples, positions, self._state.now_ms(), self._groups.names, self._worst)
            _add_duplicates(samples, positions, self._groups.names, self._worst)
        for alias, ahead_ms in self._state.clocks_ahead_ms().items():
            samples.add(catalog.CLOCK_AHEAD, ahead_ms / 1000, alias)
        return samples

    def by_pair(self) -> list[PairPositions]:
        """Return how the group partitions of every pair stand now."""
        with self._scraping, self._state.lock:
            group = self._groups.fit(self._state.offsets.keys)
            return [self._pair(source, target, key, group) for source, target, key in self._state.owned()]

    def _pair(self, source: str, target: str, key: KeyRows, group: NDArray[np.intp]) -> PairPositions:
        pair, commits = self._state.last(source, target).columns, self._state.commits(source, key)
        is_answered = (pair["source_offset"][key] == commits.offset) & (pair["outcome"][key] >= 0)
        is_answered &= pair["source_at_ms"][key] == commits.at_ms
        outcome = np.where(is_answered, pair["outcome"][key], PENDING)
        since = self._latency[source, target].since_ms(key)
        # No pass of this driver has looked at it yet.
        is_unseen = np.isin(outcome, _LACKS) & (since < 0)
        since = np.where(is_unseen, commits.at_ms, since)
        columns = (pair[name][key] for name in ("state", "duplicates", "duplicates_at_most", "lost"))
        return PairPositions((source, target), group[key], outcome, since, is_answered, *columns)


def _add_counts(samples: Samples, positions: PairPositions) -> None:
    outcomes = np.bincount(positions.outcome, minlength=len(OUTCOME_NAMES)).tolist()
    for name, count in zip(OUTCOME_NAMES, outcomes, strict=True):
        samples.add(catalog.POSITIONS, count, *positions.pair, name)
    states = np.bincount(positions.state[positions.is_answered], minlength=len(State)).tolist()
    for code, count in enumerate(states):
        metric = catalog.WITHHELD if IS_WITHHELD[code] else catalog.ANSWERS
        samples.add(metric, count, *positions.pair, State(code).name)


def _add_staleness(samples: Samples, positions: PairPositions, now_ms: int, names: list[str], worst: int) -> None:
    for code in _LACKS:
        since = positions.since_ms[positions.outcome == code]
        age_ms = max(0, now_ms - int(since.min())) if len(since) else 0
        samples.add(catalog.STALENESS, age_ms / 1000, *positions.pair, OUTCOME_NAMES[code])
    rows = np.flatnonzero(np.isin(positions.outcome, _LACKS))
    rows = rows[np.argsort(positions.since_ms[rows], kind="stable")]
    _, first = np.unique(positions.group[rows], return_index=True)
    for row in rows[np.sort(first)[:worst]].tolist():
        age_s = max(0, now_ms - int(positions.since_ms[row])) / 1000
        name = to_label(names[positions.group[row]])
        samples.add(catalog.GROUP_STALENESS, age_s, *positions.pair, OUTCOME_NAMES[positions.outcome[row]], name)


def _add_duplicates(samples: Samples, positions: PairPositions, names: list[str], worst: int) -> None:
    duplicates = np.where(positions.is_answered, positions.duplicates, 0)
    for metric, values in (
        (catalog.DUPLICATES, duplicates),
        (catalog.DUPLICATES_AT_MOST, np.where(positions.is_answered, positions.duplicates_at_most, 0)),
        (catalog.LOST, np.where(positions.is_answered, positions.lost, 0)),
    ):
        samples.add(metric, int(values.sum()), *positions.pair)
    samples.add(catalog.DUPLICATES_WORST, int(duplicates.max(initial=0)), *positions.pair)
    by_group = np.bincount(positions.group, weights=duplicates)
    for group in np.argsort(-by_group, kind="stable")[:worst].tolist():
        if by_group[group] > 0:
            samples.add(catalog.GROUP_DUPLICATES, by_group[group], *positions.pair, to_label(names[group]))


class _GroupNumbers:
    """Numbers groups as their keys are met."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._known: dict[str, int] = {}
        self._of_key = GrowingArray()

    def fit(self, keys: Sequence[GroupPartition]) -> NDArray[np.intp]:
        """Return the number of each key's group."""
        fresh = [group_id for group_id, _, _ in keys[len(self._of_key) :]]
        for group_id in fresh:
            if group_id not in self._known:
                self._known[group_id] = len(self.names)
                self.names.append(group_id)
        self._of_key.append(np.array([self._known[group_id] for group_id in fresh], np.int64))
        return self._of_key.values
