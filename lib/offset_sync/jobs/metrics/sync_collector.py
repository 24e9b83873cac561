"""What happens in sync_offsets, counted where its parts are put together; none of them knows of it."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from offset_sync.config import Config
from offset_sync.jobs.metrics import catalog
from offset_sync.jobs.metrics.catalog import Metric
from offset_sync.jobs.metrics.commit_latency import CommitLatency
from offset_sync.jobs.metrics.samples import Distribution, Family, Samples, Tally
from offset_sync.model.values import Outcome
from offset_sync.sync.reconciliation import Reconciliation, ReconciliationLog

logger = logging.getLogger(__name__)
RECORD_KINDS = ("genuine", "own", "malformed")


class WatchedJob(Protocol):
    """What a job says of itself when Prometheus asks."""

    @property
    def is_ready(self) -> bool:
        """True once translations are made."""

    @property
    def query_errors(self) -> Mapping[str, str]:
        """The error of every query that is not running, by cluster."""

    @property
    def history_error(self) -> str | None:
        """Why rows of the history are not written yet, None where all are."""


class _Starting:
    """A job that says nothing yet."""

    is_ready = False
    query_errors: Mapping[str, str] = {}
    history_error: str | None = None


class SyncMetrics:
    """Counts and times; *clock* gives monotonic seconds. Threads may share it."""

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        aliases, pairs = list(config.clusters), config.pairs()
        self.waiting = {pair: CommitLatency() for pair in pairs}
        self._aliases, self._clock = aliases, clock
        self._starts = Tally((alias,) for alias in aliases)
        self._records = Tally((alias, kind) for alias in aliases for kind in RECORD_KINDS)
        self._outcomes = Tally((*pair, outcome.name) for pair in pairs for outcome in Outcome)
        self._disordered = Tally(pairs)
        self._batches = {alias: _distribution(catalog.BATCH_SECONDS) for alias in aliases}
        self._latencies = {pair: _distribution(catalog.LATENCY) for pair in pairs}
        self._passes = _distribution(catalog.RECONCILE_SECONDS)
        self._batch_began: dict[str, float] = {}
        self._reconciled = clock()
        self._job: WatchedJob = _Starting()

    def watch(self, job: WatchedJob) -> None:
        """Say whom to ask at each scrape."""
        self._job = job

    def count(self, reconciliation: Reconciliation) -> None:
        """Count what became of translations; a mistake in counting is logged and stops nothing."""
        try:
            self._count(reconciliation)
        except Exception:
            logger.exception("metrics: a reconciliation was not counted")

    def _count(self, reconciliation: Reconciliation) -> None:
        translated = reconciliation.translated
        pair = (translated.source, translated.target)
        counts = np.bincount(reconciliation.outcome, minlength=len(Outcome)).tolist()
        for outcome, count in zip(Outcome, counts, strict=True):
            self._outcomes.add(count, *pair, outcome.name)
        self._disordered.add(int((translated.answers.is_disordered & reconciliation.is_news).sum()), *pair)
        self._latencies[pair].add(self.waiting[pair].note(reconciliation) / 1000)

    @contextmanager
    def batch(self, alias: str) -> Iterator[None]:
        """Time a micro-batch of *alias*; one that fails is no duration."""
        began = self._batch_began[alias] = self._clock()
        try:
            yield
            self._batches[alias].add(self._clock() - began)
        finally:
            self._batch_began.pop(alias, None)

    def count_records(self, alias: str, counts: Mapping[str, int]) -> None:
        """Count the records that a micro-batch of *alias* has brought, by kind."""
        for kind, count in counts.items():
            self._records.add(count, alias, kind)

    def count_start(self, alias: str) -> None:
        """Count that a query of *alias* was started."""
        self._starts.add(1, alias)

    def totals(self) -> Counter[str]:
        """Return how many records of each kind have come and how many translations had each outcome, in all."""
        found: Counter[str] = Counter()
        for tally in (self._records, self._outcomes):
            for labels, count in tally.items():
                found[labels[-1]] += count
        return found

    @contextmanager
    def reconciling(self) -> Iterator[None]:
        """Time a reconcile pass; one that raises has not ended."""
        began = self._clock()
        yield
        self._reconciled = self._clock()
        self._passes.add(self._reconciled - began)

    def collect(self) -> Iterable[Family]:
        """Return the counts, and how the job is now."""
        samples, now, errors = Samples(catalog.JOB_METRICS), self._clock(), self._job.query_errors
        samples.add(catalog.READY, self._job.is_ready)
        samples.add(catalog.RECONCILE_AGE, now - self._reconciled)
        samples.add(catalog.HISTORY_UP, self._job.history_error is None)
        for alias in self._aliases:
            samples.add(catalog.QUERY_UP, alias not in errors, alias)
            samples.add(catalog.BATCH_RUNNING, now - self._batch_began.get(alias, now), alias)
            samples.add_distribution(catalog.BATCH_SECONDS, self._batches[alias], alias)
        for pair, latencies in self._latencies.items():
            samples.add_distribution(catalog.LATENCY, latencies, *pair)
        samples.add_distribution(catalog.RECONCILE_SECONDS, self._passes)
        for metric, tally in (
            (catalog.QUERY_STARTS, self._starts),
            (catalog.RECORDS, self._records),
            (catalog.OUTCOMES_TOTAL, self._outcomes),
            (catalog.DISORDERED, self._disordered),
        ):
            samples.add_tally(metric, tally)
        return samples


def _distribution(metric: Metric) -> Distribution:
    return Distribution(metric.buckets)


class CountedHistory:
    """Tells *history*, then counts for *metrics*."""

    def __init__(self, history: ReconciliationLog, metrics: SyncMetrics) -> None:
        self._history = history
        self._metrics = metrics

    def append(self, reconciliation: Reconciliation) -> None:
        """Take in what became of translations."""
        self._history.append(reconciliation)
        self._metrics.count(reconciliation)
