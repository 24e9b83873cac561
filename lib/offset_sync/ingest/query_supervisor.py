"""Run streaming queries side by side: a failing one is started again and never stops the others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.ingest.query_errors import failure_of, first_line
from offset_sync.model.errors import TakenOverError
from offset_sync.tables.delta.jvm import silence_batches

logger = logging.getLogger(__name__)

BatchFunction = Callable[[DataFrame, int], None]


class QueryStarter(Protocol):
    """Who starts one query."""

    def start(self) -> StreamingQuery | None:
        """Start it; None: there is nothing to read yet, ask again later."""


FIRST_BACK_OFF_SECONDS = 1.0
LONGEST_BACK_OFF_SECONDS = 60.0
_POLL_SECONDS = 0.2
STOPPED = "stopped before its end was reached"


class StopRequestedError(Exception):
    """Raised in a micro-batch that would begin after the job was asked to stop."""


@dataclass
class _Supervised:
    starter: QueryStarter
    query: StreamingQuery | None = None
    failures: int = 0
    retry_at: float = 0.0
    error: str | None = None
    is_done: bool = field(default=False)


class _Starting:
    """The start of a query, in a thread of its own: a stop must not wait for a silent cluster."""

    def __init__(self, name: str, starter: QueryStarter) -> None:
        self._starter, self._lock = starter, threading.Lock()
        self._query: StreamingQuery | None = None
        self._problem: Exception | None = None
        self._is_given_up = False
        self._thread = threading.Thread(target=self._run, name=f"start {name}", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait a little for its end."""
        self._thread.join(seconds)

    def take(self) -> StreamingQuery | None:
        """Return the query, or raise why there is none; one that is not there yet is stopped when it is."""
        with self._lock:
            self._is_given_up = not self.has_ended
            if self._problem is not None:
                raise self._problem
            return self._query

    def _run(self) -> None:
        try:
            query = self._starter.start()
        except Exception as problem:
            self._problem = problem
            return
        with self._lock:
            self._query = query
            if self._is_given_up and query is not None:
                query.stop()


class QuerySupervisor:
    """Named queries of one job and the flag that ends them."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._queries: dict[str, _Supervised] = {}

    def add(self, name: str, starter: QueryStarter) -> None:
        """Add a query; it is started by :meth:`run_once` or :meth:`run_until_stopped`."""
        self._queries[name] = _Supervised(starter)

    def stop_between_batches(self, function: BatchFunction) -> BatchFunction:
        """Return *function* for foreachBatch; once a stop is asked for no further micro-batch begins.

        One that finds that this driver was taken over ends as quietly: the job says why it ends.
        """

        def guarded(batch: DataFrame, batch_id: int) -> None:
            try:
                if not self._stop.is_set():
                    return function(batch, batch_id)
            except TakenOverError:
                self._stop.set()
            silence_batches(_is_no_stop)
            raise StopRequestedError

        return guarded

    def run_once(self) -> dict[str, str]:
        """Start every query, wait for all to end, and return one line for each that failed or was stopped before."""
        for name, supervised in self._queries.items():
            self._start(name, supervised)
            supervised.is_done = supervised.query is None
        while not self._stop.is_set() and not all(self._has_ended(s) for s in self._queries.values()):
            time.sleep(_POLL_SECONDS)
        for supervised in self._queries.values():
            if not self._has_ended(supervised):
                supervised.error = STOPPED
        self.stop()
        return {name: s.error for name, s in self._queries.items() if s.error}

    def failures(self) -> list[str]:
        """Return one line for each query that failed; queries are named after their clusters."""
        return [f"clusters.{name}: {e.removeprefix(f'clusters.{name}: ')}" for name, e in self.errors().items()]

    def run_until_stopped(self, every_poll: Callable[[], None] = lambda: None) -> None:
        """Keep every query running until the stop flag is set; a failed one waits longer each time."""
        while not self._stop.is_set():
            for name, supervised in self._queries.items():
                self._revive(name, supervised)
            every_poll()
            self._stop.wait(_POLL_SECONDS)
        self.stop()

    def have_caught_up(self) -> bool:
        """Return whether every query has read its log up to the end once, or cannot read it now."""
        return all(self._queries[name].error is not None or self.has_caught_up(name) for name in self._queries)

    def has_caught_up(self, name: str) -> bool:
        """Return whether a query has read its log up to the end once; nothing is unread where nothing is there."""
        query, error = self._queries[name].query, self._queries[name].error
        return error is None and (query is None or (query.isActive and _has_caught_up(query)))

    def errors(self) -> dict[str, str]:
        """Return the present error of every query that is not running."""
        return {name: s.error for name, s in self._queries.items() if s.error}

    def restart(self, name: str, patience_seconds: float = 10.0) -> None:
        """Stop a query, which is started again at the next poll: what it was started with has changed."""
        supervised = self._queries[name]
        if supervised.query is not None:
            _let_end(supervised.query, time.monotonic() + patience_seconds)
            supervised.query = None

    def stop(self, patience_seconds: float = 60.0) -> None:
        """End all queries, letting the micro-batch in hand finish; past *patience_seconds* it is interrupted."""
        self._stop.set()
        deadline = time.monotonic() + patience_seconds
        for supervised in self._queries.values():
            if supervised.query is not None:
                _let_end(supervised.query, deadline)

    def _has_ended(self, supervised: _Supervised) -> bool:
        if supervised.query is not None and not supervised.query.isActive:
            supervised.error = supervised.error or failure_of(supervised.query)
            supervised.is_done = True
        return supervised.is_done

    def _start(self, name: str, supervised: _Supervised) -> None:
        starting = _Starting(name, supervised.starter)
        while not starting.has_ended and not self._stop.is_set():
            starting.join(_POLL_SECONDS)
        try:
            supervised.query = starting.take()
            supervised.error = None
        except Exception as problem:
            supervised.query = None
            supervised.error = first_line(str(problem)) or type(problem).__name__
            self._back_off(name, supervised)

    def _revive(self, name: str, supervised: _Supervised) -> None:
        query = supervised.query
        if query is not None and query.isActive:
            if supervised.failures and query.lastProgress is not None:
                supervised.failures = 0
            return
        if query is not None:
            supervised.error = failure_of(query) or "ended without an error"
            supervised.query = None
            self._back_off(name, supervised)
        if time.monotonic() >= supervised.retry_at:
            self._start(name, supervised)
            if supervised.query is None and supervised.error is None:
                supervised.retry_at = time.monotonic() + FIRST_BACK_OFF_SECONDS

    def _back_off(self, name: str, supervised: _Supervised) -> None:
        wait = min(FIRST_BACK_OFF_SECONDS * 2**supervised.failures, LONGEST_BACK_OFF_SECONDS)
        supervised.failures += 1
        supervised.retry_at = time.monotonic() + wait
        if self._stop.is_set():
            return  # whatever ends now was told to, or falls with the rest
        logger.error("query %s failed, next try in %.0f s: %s", name, wait, supervised.error)


def _let_end(query: StreamingQuery, deadline: float) -> None:
    while query.isActive:
        if not query.status["isTriggerActive"] or time.monotonic() > deadline:
            query.stop()
        time.sleep(0.02)


def _is_no_stop(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], StopRequestedError))


def _has_caught_up(query: StreamingQuery) -> bool:
    progress = query.lastProgress
    if progress is None:
        # A log without anything new makes no progress report.
        return not query.status["isDataAvailable"] and query.status["message"].startswith("Waiting for")
    return all(source["endOffset"] == source["latestOffset"] for source in progress["sources"])
