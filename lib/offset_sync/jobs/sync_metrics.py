"""The metrics of sync_offsets: counts of what it has done, and tables of gauges over its state.

The parts of the job do not depend on them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter as Counts
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from prometheus_client import Counter, Histogram, disable_created_metrics
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from pyspark.sql import DataFrame

from offset_sync.config import Config
from offset_sync.ingest.query_supervisor import BatchFunction
from offset_sync.jobs.endpoint import PAIR, Gauges, Labels, gauge, of_pairs, worst
from offset_sync.model.text import to_count, to_duration
from offset_sync.model.values import (
    ABSENT,
    GroupPartition,
    Outcome,
    State,
)
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.reconciled import Reconciliation, ReconciliationLog
from offset_sync.translate.index.columns import ColumnStore
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
_OUTCOMES = (*(outcome.name for outcome in Outcome), "PENDING")
"""By code, and the word for a commit without one."""
_HAS_IT = np.array([each in (Outcome.COMMITTED, Outcome.UNCHANGED, Outcome.NOT_FORWARD) for each in Outcome])
"""True for outcomes after which the target is up to date: it has the translation, or a genuine commit further on."""
_LACKS = np.append(~_HAS_IT, True)
_LATENCIES = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each counter, which no rule needs


@dataclass(frozen=True)
class PairPositions:
    """The group partitions of one pair, shape (rows,); *stale_ms* is 0 where the target is up to date.

    Where the newest commit has no answer, *state* is ABSENT, and the counts are 0. *key* are rows of *keys*.
    """

    pair: tuple[str, str]
    key: KeyRows
    keys: Sequence[GroupPartition]
    outcome: NDArray[np.intp]
    stale_ms: Int64s
    state: NDArray[np.intp]
    duplicates: Int64s
    lost: Int64s

    def outcomes(self) -> dict[Labels, float]:
        """Return how many have each outcome."""
        counts = np.bincount(self.outcome, minlength=len(_OUTCOMES)).tolist()
        return {(name,): count for name, count in zip(_OUTCOMES, counts, strict=True)}

    def withheld(self) -> dict[Labels, float]:
        """Return how many are withheld for each reason."""
        counts = np.bincount(self.state[self.state >= 0], minlength=len(State)).tolist()
        return {(state.name,): counts[state] for state in State if state.is_withheld}

    def staleness(self) -> dict[Labels, float]:
        """Return the age of the oldest commit that the target lacks in seconds, by outcome."""
        codes = np.flatnonzero(_LACKS).tolist()
        return {(_OUTCOMES[code],): int(self.stale_ms[self.outcome == code].max(initial=0)) / 1000 for code in codes}

    def stale_groups(self) -> dict[Labels, float]:
        """Return the same of the worst groups, by outcome and group."""
        ages = dict[Labels, float]()
        for row in np.flatnonzero(self.stale_ms).tolist():
            labels = _OUTCOMES[self.outcome[row]], self.group_id(row)
            ages[labels] = max(ages.get(labels, 0.0), int(self.stale_ms[row]) / 1000)
        return worst(ages)

    def repeating_groups(self) -> dict[Labels, float]:
        """Return the duplicates of the worst groups."""
        totals = dict[Labels, float]()
        for row in np.flatnonzero(self.duplicates).tolist():
            labels = (self.group_id(row),)
            totals[labels] = totals.get(labels, 0) + int(self.duplicates[row])
        return worst(totals)

    def group_id(self, row: int) -> str:
        """Return the group of *row*."""
        return self.keys[int(self.key[row])].group_id


class SyncMetrics:
    """What one driver has done, and the positions of its groups. Threads may share it.

    It counts what *history* records.
    """

    def __init__(self, config: Config, state: SyncState, history: ReconciliationLog) -> None:
        self._aliases, self._state, self._history = list(config.clusters), state, history
        self._stale_since = {pair: StaleSince() for pair in config.pairs()}
        self._batch_began: dict[str, float] = {}
        self._reconciled = time.monotonic()
        said = "records of __consumer_offsets read; malformed ones are in quarantine"
        self._records = Counter("offset_sync_records", said, ("cluster", "kind"), registry=None)
        said = "from a commit at the source until the target acknowledged its translation"
        self._latencies = Histogram("offset_sync_commit_latency_seconds", said, PAIR, buckets=_LATENCIES, registry=None)
        # All known labels: to Prometheus, a counter that appears at 1 has not grown.
        for alias in self._aliases:
            self.count_records(alias, {"genuine": 0, "own": 0, "malformed": 0})
        for pair in self._stale_since:
            self._latencies.labels(*pair)

    def collectors(self) -> list[Collector]:
        """Return what Prometheus reads."""
        return [self._records, self._latencies, Gauges(self.gauges)]

    def append(self, reconciliation: Reconciliation) -> None:
        """Record a reconciliation, and count it; an error in counting is logged only."""
        self._history.append(reconciliation)
        try:
            self._count(reconciliation)
        except Exception:
            logger.exception("metrics: a reconciliation was not counted")

    def _count(self, reconciliation: Reconciliation) -> None:
        """Count the commits that have moved the target; an offset that is only refreshed has no latency."""
        translated, outcome = reconciliation.translated, reconciliation.outcome
        pair, at_ms = (translated.source, translated.target), translated.commits.at_ms
        self._stale_since[pair].note(translated.commits.key, at_ms, _HAS_IT[outcome], translated.translated_at_ms)
        is_moved = (outcome == Outcome.COMMITTED) & (reconciliation.previous != reconciliation.written)
        for made_ms in at_ms[is_moved].tolist():
            self._latencies.labels(*pair).observe(max(reconciliation.committed_at_ms - made_ms, 0) / 1000)

    def counted(self, alias: str, function: Callable[[DataFrame, int], Mapping[str, int]]) -> BatchFunction:
        """Return *function*, which returns the records of each kind, for the micro-batches of *alias*, timed."""

        def run(records: DataFrame, batch_id: int) -> None:
            self._batch_began[alias] = time.monotonic()
            try:
                self.count_records(alias, function(records, batch_id))
            finally:
                self._batch_began.pop(alias, None)

        return run

    def count_records(self, alias: str, counts: Mapping[str, int]) -> None:
        """Count the records of a micro-batch of *alias*, by kind."""
        for kind, count in counts.items():
            self._records.labels(alias, kind).inc(count)

    def reconciled(self) -> None:
        """Note that a reconcile pass has ended."""
        self._reconciled = time.monotonic()

    def health(self, is_ready: bool, history_error: str | None, failed: Collection[str]) -> Iterator[Metric]:
        """Yield whether the driver translates, and reads the commits of each cluster but those that *failed*.

        *history_error*: why rows are missing.
        """
        now, aliases = time.monotonic(), self._aliases
        yield gauge(
            "ready",
            "1 once every cluster's commits were read to their end, and the index once; before that nothing is synced",
            (),
            {(): is_ready},
        )
        yield gauge("history_up", "0 while appends to offset_translations are failing", (), {(): history_error is None})
        yield gauge(
            "query_up",
            "1 while the cluster's commits are read; 0: failed, will be restarted",
            ("cluster",),
            {(alias,): alias not in failed for alias in aliases},
        )
        yield gauge(
            "reconcile_age_seconds",
            "time since the last reconcile pass ended, or since the start",
            (),
            {(): now - self._reconciled},
        )
        yield gauge(
            "batch_running_seconds",
            "age of the running micro-batch; 0: none",
            ("cluster",),
            {(alias,): now - self._batch_began.get(alias, now) for alias in aliases},
        )

    def gauges(self) -> Iterator[Metric]:
        """Yield the gauges of the group partitions as they are now."""
        found = [(each.pair, each) for each in self.positions()]
        yield gauge(
            "positions",
            "group partitions by outcome of their newest commit; PENDING: not answered yet",
            (*PAIR, "outcome"),
            of_pairs((pair, each.outcomes()) for pair, each in found),
        )
        yield gauge(
            "withheld",
            "group partitions without an answer, by reason",
            (*PAIR, "reason"),
            of_pairs((pair, each.withheld()) for pair, each in found),
        )
        yield gauge(
            "staleness_seconds",
            "age of the oldest commit that the target does not have, by outcome; 0: it has all",
            (*PAIR, "outcome"),
            of_pairs((pair, each.staleness()) for pair, each in found),
        )
        yield gauge(
            "duplicates",
            "records that all groups would read again if moved now",
            PAIR,
            {pair: int(each.duplicates.sum()) for pair, each in found},
        )
        yield gauge(
            "lost",
            "unread records that the target has deleted and the source has not",
            PAIR,
            {pair: int(each.lost.sum()) for pair, each in found},
        )
        yield gauge(
            "group_staleness_seconds",
            "staleness of the worst groups",
            (*PAIR, "outcome", "group_id"),
            of_pairs((pair, each.stale_groups()) for pair, each in found),
        )
        yield gauge(
            "group_duplicates",
            "duplicates of the worst groups",
            (*PAIR, "group_id"),
            of_pairs((pair, each.repeating_groups()) for pair, each in found),
        )

    def positions(self) -> list[PairPositions]:
        """Return the group partitions of every pair as they are now; the state is locked for a copy only."""
        with self._state.lock:
            return [self._pair(source, target, key) for source, target, key in self._state.owned()]

    def _pair(self, source: str, target: str, key: KeyRows) -> PairPositions:
        pair, commits = self._state.last(source, target).columns, self._state.commits(source, key)
        is_answered = (pair["source_offset"][key] == commits.offset) & (pair["outcome"][key] >= 0)
        is_answered &= pair["source_at_ms"][key] == commits.at_ms
        outcome = np.where(is_answered, pair["outcome"][key], len(Outcome))
        since_ms = self._stale_since[source, target].of(key)
        # No pass of this driver has reconciled it yet.
        since_ms = np.where(since_ms < 0, commits.at_ms, since_ms)
        stale_ms = np.where(_LACKS[outcome], np.maximum(self._state.now_ms() - since_ms, 0), 0)
        state, *costs = (
            np.where(is_answered, pair[name][key], absent)
            for name, absent in (("state", ABSENT), ("duplicates", 0), ("lost", 0))
        )
        return PairPositions((source, target), key, self._state.offsets.keys, outcome, stale_ms, state, *costs)

    def summary(self) -> str:
        """Return a line for the log: group partitions by outcome, reasons, and the worst staleness."""
        outcomes, withheld, worst = Counts[Labels](), Counts[Labels](), list[str]()
        for each in self.positions():
            outcomes.update(each.outcomes())
            withheld.update(each.withheld())
            worst.append(f"{' to '.join(each.pair)} {to_duration(int(each.stale_ms.max(initial=0)))}")
        return f"positions: {_list(outcomes)}; withheld: {_list(withheld)}; worst staleness: {', '.join(worst)}"


def _list(counts: Counts[Labels]) -> str:
    return ", ".join(f"{name} {to_count(count)}" for (name,), count in counts.most_common() if count) or "none"


class StaleSince:
    """Since when the target of a pair lacks the newest commit of each key. Threads may share it.

    A commit that this driver has not seen at the target is missing since it was made, one that the target has lost, or
    may have lost, since that was found.
    """

    def __init__(self) -> None:
        # The newest commit known to have been at the target, and since when a newer one is missing there.
        self._columns = ColumnStore({"held_at_ms": ABSENT, "since_ms": ABSENT})
        self._lock = threading.Lock()

    def note(self, key: KeyRows, at_ms: Int64s, has_it: NDArray[np.bool_], now_ms: int) -> None:
        """Note which targets have the commits made at *at_ms*."""
        with self._lock:
            since_ms, held_at_ms = self._since_ms(key), self._columns["held_at_ms"]
            begins_ms, before = np.where(held_at_ms[key] == at_ms, now_ms, at_ms), since_ms[key]
            since_ms[key] = np.where(has_it, ABSENT, np.where(before == ABSENT, begins_ms, before))
            held_at_ms[key[has_it]] = at_ms[has_it]

    def of(self, key: KeyRows) -> Int64s:
        """Return the times of *key*, :data:`ABSENT` where nothing is missing; forget all other keys.

        These have another owner now: if they return, they count from their next commit.
        """
        with self._lock:
            since_ms = self._since_ms(key)
            found: Int64s = since_ms[key]
            since_ms[:] = ABSENT
            since_ms[key] = found
            return found

    def _since_ms(self, key: KeyRows) -> Int64s:
        self._columns.fit(int(key.max(initial=-1)) + 1)
        return self._columns["since_ms"]
