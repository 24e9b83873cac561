"""What happens in sync_offsets, counted where its parts are put together; none of them knows of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from offset_sync.config import Config
from offset_sync.jobs.metrics import catalog
from offset_sync.jobs.metrics.catalog import Metric
from offset_sync.jobs.metrics.commit_latency import Waiting
from offset_sync.jobs.metrics.samples import Distribution, Family, Samples, Tally
from offset_sync.model.values import Outcome
from offset_sync.sync.reconciliation import Reconciliation

logger = logging.getLogger(__name__)
Record = Callable[[Reconciliation], None]
_Batch = TypeVar("_Batch")
_Query = TypeVar("_Query")
RECORD_KINDS = ("genuine", "own", "malformed")


class SyncMetrics:
    """Counts and times; *clock* gives monotonic seconds. Threads may share it."""

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        aliases, pairs = list(config.clusters), config.pairs()
        self.waiting = {pair: Waiting() for pair in pairs}
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
        self._is_ready: Callable[[], bool] = lambda: False
        self._errors: Callable[[], Mapping[str, str]] = dict
        self._history_error: Callable[[], str | None] = lambda: None

    def ask(
        self,
        is_ready: Callable[[], bool],
        query_errors: Callable[[], Mapping[str, str]],
        history_error: Callable[[], str | None],
    ) -> None:
        """Say whom to ask at each scrape."""
        self._is_ready, self._errors, self._history_error = is_ready, query_errors, history_error

    def recording(self, record: Record) -> Record:
        """Return *record* that counts too, afterwards; a mistake in counting is logged and stops nothing."""

        def recorded(reconciliation: Reconciliation) -> None:
            record(reconciliation)
            try:
                self._note(reconciliation)
            except Exception:
                logger.exception("metrics: a settlement was not counted")

        return recorded

    def _note(self, reconciliation: Reconciliation) -> None:
        pair = (reconciliation.source, reconciliation.target)
        counts = np.bincount(reconciliation.outcome, minlength=len(Outcome)).tolist()
        for outcome, count in zip(Outcome, counts, strict=True):
            self._outcomes.add(count, *pair, outcome.name)
        self._disordered.add(int((reconciliation.answers.is_disordered & reconciliation.is_news).sum()), *pair)
        self._latencies[pair].add(self.waiting[pair].note(reconciliation) / 1000)

    def timed(self, alias: str, take_in: Callable[[_Batch, int], None]) -> Callable[[_Batch, int], None]:
        """Return *take_in*, timed as the micro-batches of *alias*; one that fails is no duration."""

        def timed(batch: _Batch, batch_id: int) -> None:
            began = self._batch_began[alias] = self._clock()
            try:
                take_in(batch, batch_id)
                self._batches[alias].add(self._clock() - began)
            finally:
                self._batch_began.pop(alias, None)

        return timed

    def counting_records(self, alias: str) -> Callable[[str, int], None]:
        """Return what is to be told of the records that micro-batches of *alias* bring."""
        return lambda kind, count: self._records.add(count, alias, kind)

    def starting(self, alias: str, start: Callable[[], _Query | None]) -> Callable[[], _Query | None]:
        """Return *start*, counted when it has started a query."""

        def started() -> _Query | None:
            query = start()
            if query is not None:
                self._starts.add(1, alias)
            return query

        return started

    @contextmanager
    def reconciling(self) -> Iterator[None]:
        """Time a reconcile pass; one that raises has not ended."""
        began = self._clock()
        yield
        self._reconciled = self._clock()
        self._passes.add(self._reconciled - began)

    def collect(self) -> Iterable[Family]:
        """Return the counts, and how the job is now."""
        samples, now, errors = Samples(catalog.JOB_METRICS), self._clock(), self._errors()
        samples.add(catalog.READY, self._is_ready())
        samples.add(catalog.RECONCILE_AGE, now - self._reconciled)
        samples.add(catalog.HISTORY_UP, self._history_error() is None)
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
