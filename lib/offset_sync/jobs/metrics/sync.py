"""Metrics of sync_offsets, counted where its parts are wired; the parts do not depend on them."""

from __future__ import annotations

import collections
import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.metrics_core import Metric

from offset_sync.config import Config
from offset_sync.jobs.metrics.endpoint import gauge
from offset_sync.model.values import ABSENT, Outcome
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.sync.reconciled import Reconciliation, ReconciliationLog
from offset_sync.translate.index.columns import ColumnStore
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
PAIR = ("source", "target")
RECORD_KINDS = ("genuine", "own", "malformed")
HAS_IT = np.array([each in (Outcome.COMMITTED, Outcome.UNCHANGED, Outcome.NOT_FORWARD) for each in Outcome])
"""True for outcomes after which the target is up to date: it has the translation, or a genuine commit further on."""
_LATENCIES = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each counter, which no rule needs


class SyncMetrics:
    """Counts and times. Threads may share it."""

    def __init__(self, config: Config) -> None:
        self._aliases, self._counted = list(config.clusters), CollectorRegistry()
        self.waiting = {pair: CommitLatency() for pair in config.pairs()}
        self._batch_began: dict[str, float] = {}
        self._reconciled = time.monotonic()
        self._outcomes, self._lock = collections.Counter[str](), threading.Lock()
        text = "records of __consumer_offsets read; malformed ones are in quarantine"
        self._records = Counter("offset_sync_records", text, ["cluster", "kind"], registry=self._counted)
        text = "from a commit at the source until the target acknowledged its translation"
        self._latencies = Histogram(
            "offset_sync_commit_latency_seconds", text, PAIR, buckets=_LATENCIES, registry=self._counted
        )
        # All known labels: to Prometheus, a counter that appears at 1 has not grown.
        for alias in self._aliases:
            for kind in RECORD_KINDS:
                self._records.labels(alias, kind)
        for pair in self.waiting:
            self._latencies.labels(*pair)

    def count(self, reconciliation: Reconciliation) -> None:
        """Count the outcomes of translations."""
        counts = np.bincount(reconciliation.outcome, minlength=len(Outcome)).tolist()
        with self._lock:
            self._outcomes.update({outcome.name: count for outcome, count in zip(Outcome, counts, strict=True)})
        pair = (reconciliation.translated.source, reconciliation.translated.target)
        latency = self._latencies.labels(*pair)
        for took_ms in self.waiting[pair].note(reconciliation).tolist():
            latency.observe(took_ms / 1000)

    @contextmanager
    def batch(self, alias: str) -> Iterator[None]:
        """Time a micro-batch of *alias* while it runs."""
        self._batch_began[alias] = time.monotonic()
        try:
            yield
        finally:
            self._batch_began.pop(alias, None)

    def count_records(self, alias: str, counts: Mapping[str, int]) -> None:
        """Count the records of a micro-batch of *alias*, by kind."""
        for kind, count in counts.items():
            self._records.labels(alias, kind).inc(count)

    def totals(self) -> collections.Counter[str]:
        """Return how many records of each kind were read and how many translations had each outcome, in all."""
        with self._lock:
            found = self._outcomes.copy()
        for family in self._records.collect():
            for sample in family.samples:
                found[sample.labels["kind"]] += int(sample.value)
        return found

    def reconciled(self) -> None:
        """Note that a reconcile pass has ended."""
        self._reconciled = time.monotonic()

    def collect(self) -> Iterator[Metric]:
        """Return the counts, and the ages of the last pass and the running micro-batches."""
        yield from self._counted.collect()
        now = time.monotonic()
        text = "time since the last reconcile pass ended, or since the start"
        yield gauge("reconcile_age_seconds", text, value=now - self._reconciled)
        running = gauge("batch_running_seconds", "age of the running micro-batch; 0: none", "cluster")
        for alias in self._aliases:
            running.add_metric([alias], now - self._batch_began.get(alias, now))
        yield running


class CountedHistory:
    """Appends to *history*, then counts for *metrics*."""

    def __init__(self, history: ReconciliationLog, metrics: SyncMetrics) -> None:
        self._history, self._metrics = history, metrics

    def append(self, reconciliation: Reconciliation) -> None:
        """Append and count a reconciliation; an error in counting is logged only."""
        self._history.append(reconciliation)
        try:
            self._metrics.count(reconciliation)
        except Exception:
            logger.exception("metrics: a reconciliation was not counted")


def health(
    is_ready: bool, history_error: str | None, aliases: Iterable[str], failed: Collection[str]
) -> Iterator[Metric]:
    """Yield whether sync_offsets translates, writes its history, and reads the commits of each cluster.

    Queries of the clusters *failed* do not run; *history_error* is None if all rows are written.
    """
    text = "1 once every cluster's commits were read to their end, and the index once; before that nothing is synced"
    yield gauge("ready", text, value=is_ready)
    text = "0 while appends to offset_translations are failing"
    yield gauge("history_up", text, value=history_error is None)
    queries = gauge("query_up", "1 while the cluster's commits are read; 0: failed, will be restarted", "cluster")
    for alias in aliases:
        queries.add_metric([alias], alias not in failed)
    yield queries


class CommitLatency:
    """The latency of commits of one pair to the target, and since when it is stale. Threads may share it.

    Errs to the large side: a commit that no reconciliation has answered yet counts as missing since it was made.
    """

    def __init__(self) -> None:
        # The newest commit known to have been at the target, and since when a newer one is missing there.
        self._columns = ColumnStore({"committed_at_ms": ABSENT, "since_ms": ABSENT})
        self._lock = threading.Lock()

    def restore(self, pair: LastTranslations) -> None:
        """Restore the answers of the last driver; commits it has seen at the target are not missing."""
        answered = pair.columns
        with self._lock:
            self._columns.fit(len(answered["outcome"]))
            keys = np.flatnonzero((answered["outcome"] >= 0) & HAS_IT[answered["outcome"]])
            self._columns["committed_at_ms"][keys] = answered["source_at_ms"][keys]

    def note(self, reconciliation: Reconciliation) -> Int64s:
        """Note the outcomes of commits; return the latency in milliseconds of each that has just arrived.

        A commit that the target has lost, or may have lost, counts as missing since that was found.
        """
        translated = reconciliation.translated
        key, at_ms = translated.commits.key, translated.commits.at_ms
        has_it = HAS_IT[reconciliation.outcome]
        with self._lock:
            self._columns.fit(int(key.max(initial=-1)) + 1)
            held_at_ms, since_ms = self._columns["committed_at_ms"], self._columns["since_ms"]
            is_new = held_at_ms[key] != at_ms
            begins_ms = np.where(is_new, at_ms, translated.translated_at_ms)
            since_ms[key] = np.where(has_it, ABSENT, np.where(since_ms[key] == ABSENT, begins_ms, since_ms[key]))
            held_at_ms[key[has_it]] = at_ms[has_it]
        arrived = at_ms[has_it & is_new & (reconciliation.outcome == Outcome.COMMITTED)]
        took: Int64s = np.maximum(reconciliation.committed_at_ms - arrived, 0)
        return took

    def since_ms(self, key: KeyRows) -> Int64s:
        """Return since when each of *key* is missing, :data:`ABSENT` for none; forget all other keys.

        These have another owner now: if they return, they count from their next commit.
        """
        with self._lock:
            self._columns.fit(int(key.max(initial=-1)) + 1)
            since_ms = self._columns["since_ms"]
            found: Int64s = since_ms[key]
            since_ms[:] = ABSENT
            since_ms[key] = found
            return found
