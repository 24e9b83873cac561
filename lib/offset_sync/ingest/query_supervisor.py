"""Runs streaming queries side by side: a failed one is restarted and never stops the others.

Nothing here waits for a cluster: a start that an unresponsive one blocks, and a query that does not end, are checked
again with the next poll, and the others continue meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.ingest.query_errors import failure_of, reason_of, with_full_disk
from offset_sync.model.errors import TakenOverError
from offset_sync.spark.jvm import hear_batches, silence_batches

logger = logging.getLogger(__name__)

BatchFunction = Callable[[DataFrame, int], None]

FIRST_BACK_OFF_SECONDS = 1.0
LONGEST_BACK_OFF_SECONDS = 60.0
_POLL_SECONDS = 0.2
_NO_OFFSET = "null"
"""The latest offset, as pyspark has it, of a source of polls: one poll finds all that there is."""
STOPPED = "stopped before its end was reached"


def has_caught_up(query: StreamingQuery) -> bool:
    """Return whether *query* has read its log up to the end once."""
    progress = query.lastProgress
    if progress is None:
        # A log without anything new makes no progress report.
        return not query.status["isDataAvailable"] and query.status["message"].startswith("Waiting for")
    return all(source["latestOffset"] in (_NO_OFFSET, source["endOffset"]) for source in progress["sources"])


class HeldFunction:
    """Calls *function*, which may reference all state of a job, until :meth:`let_go` releases it.

    Spark keeps a function of foreachBatch and its last error until its JVM collects garbage, if ever.
    """

    def __init__(self, function: BatchFunction) -> None:
        self._function: BatchFunction | None = function
        self._error = Exception()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Call the function; RuntimeError, so that the micro-batch is repeated, once it was released."""
        if (function := self._function) is None:
            raise RuntimeError("the job whose micro-batch this is has ended")
        try:
            function(batch, batch_id)
        except Exception as error:
            self._error = error
            raise

    def let_go(self) -> None:
        """Release the function, and what the traceback of its last error references."""
        self._function = self._error.__traceback__ = self._error.__cause__ = self._error.__context__ = None


class QueryStarter(Protocol):
    """Starts one query."""

    def start(self) -> StreamingQuery | None:
        """Start it; None: there is nothing to read yet, try again later."""


def started(name: str, starter: QueryStarter) -> Future[StreamingQuery | None]:
    """Start a query in a thread of its own, so that an unresponsive cluster blocks no other; return the future."""
    start: Future[StreamingQuery | None] = Future()

    def run() -> None:
        try:
            start.set_result(starter.start())
        except BaseException as problem:
            start.set_exception(problem)

    threading.Thread(target=run, name=f"start {name}", daemon=True).start()
    return start


def stop_started(start: Future[StreamingQuery | None]) -> None:
    """Stop the query of a start that completed after it was given up."""
    if start.exception() is None and (query := start.result()) is not None:
        query.stop()


class StopRequestedError(Exception):
    """Raised in a micro-batch that would begin after the job was asked to stop."""


@dataclass
class _Supervised:
    starter: QueryStarter
    start: Future[StreamingQuery | None] | None = None  # while starting
    query: StreamingQuery | None = None
    failures: int = 0
    retry_at: float = 0.0
    error: str | None = None
    was_started: bool = False  # at least one start has completed
    ends_by: float | None = None  # it is being restarted; by then it is interrupted
    ending: threading.Thread | None = None

    @property
    def has_caught_up(self) -> bool:
        query = self.query  # the supervisor's thread may clear it
        if self.error is not None or self.start is not None:
            return False
        return self.was_started if query is None else query.isActive and has_caught_up(query)


class QuerySupervisor:
    """Named queries of one job; they end when *stop* is set for the job, or *over* for the queries alone."""

    def __init__(self, stop: threading.Event, over: threading.Event | None = None, folders: Sequence[str] = ()) -> None:
        self._stop, self._over = stop, over or threading.Event()
        self._folders = folders
        self._queries: dict[str, _Supervised] = {}
        self._held: list[HeldFunction] = []
        self._is_silent = False

    @property
    def _must_end(self) -> bool:
        return self._stop.is_set() or self._over.is_set()

    def add(self, name: str, starter: QueryStarter) -> None:
        """Add a query; it is started by :meth:`run_once` or :meth:`run_until_stopped`."""
        self._queries[name] = _Supervised(starter)

    def stop_between_batches(self, function: BatchFunction) -> BatchFunction:
        """Return *function* for foreachBatch; once a stop is asked for no further micro-batch begins.

        One that finds this driver taken over, or is waiting at shutdown, ends as quietly: the job logs why.
        """

        def guarded(batch: DataFrame, batch_id: int) -> None:
            try:
                if not self._must_end:
                    return function(batch, batch_id)
            except TakenOverError:
                self._stop.set()
            except StopRequestedError:
                pass
            self._is_silent = True
            silence_batches(_is_no_stop)
            raise StopRequestedError

        self._held.append(held := HeldFunction(guarded))
        return held

    def stream(
        self, name: str, records: DataFrame, checkpoint: str, function: BatchFunction, interval: timedelta | None
    ) -> StreamingQuery:
        """Start to stream *records* to *function*, see :meth:`stop_between_batches`; *name* is job and cluster.

        A micro-batch begins every *interval*; with None the query ends once it has read what there is now.
        """
        trigger: dict[str, Any] = {"availableNow": True}
        if interval is not None:
            trigger = {"processingTime": f"{interval.total_seconds()} seconds"}
        records.sparkSession.sparkContext.setLocalProperty("spark.scheduler.pool", name.split()[1])
        writer = records.writeStream.queryName(name).option("checkpointLocation", checkpoint)
        return writer.foreachBatch(self.stop_between_batches(function)).trigger(**trigger).start()

    def run_once(self) -> dict[str, str]:
        """Start every query, wait for all to end, and return one line for each that failed or was stopped before."""
        for name, supervised in self._queries.items():
            self._start(name, supervised)
        while not self._must_end and self._unfinished():
            time.sleep(_POLL_SECONDS)
        unfinished = self._unfinished()
        self.stop()
        for supervised in unfinished:
            supervised.error = STOPPED
        return self.errors()

    def failures(self) -> list[str]:
        """Return one line for each query that failed; queries are named after their clusters, and what they read."""
        errors = [(_cluster_of(name), error) for name, error in self.errors().items()]
        return [f"clusters.{alias}: {error.removeprefix(f'clusters.{alias}: ')}" for alias, error in errors]

    def run_until_stopped(self, every_poll: Callable[[], None] = lambda: None) -> None:
        """Keep every query running until shutdown; a failed one is restarted with exponential back-off."""
        while not self._must_end:
            for name, supervised in self._queries.items():
                self._revive(name, supervised)
            every_poll()
            self._stop.wait(_POLL_SECONDS)
        self.stop()

    def have_caught_up(self) -> bool:
        """Return whether every query has read its log up to the end once, or cannot read it now."""
        return all(supervised.error is not None or supervised.has_caught_up for supervised in self._queries.values())

    def has_caught_up(self, name: str) -> bool:
        """Return whether a query has read its log up to the end once; true if there is nothing to read."""
        return self._queries[name].has_caught_up

    def has_read(self, name: str) -> bool:
        """Return whether a query has read its log up to the end once, or was to read no further and ended.

        StopRequestedError at shutdown, so that callers stop waiting.
        """
        if self._must_end:
            raise StopRequestedError
        supervised = self._queries[name]
        query = supervised.query
        is_over = query is not None and supervised.ends_by is None and not query.isActive and query.exception() is None
        return is_over or supervised.has_caught_up

    def errors(self) -> dict[str, str]:
        """Return the present error of every query that is not running."""
        return {name: with_full_disk(s.error, self._folders) for name, s in self._queries.items() if s.error}

    def have_all_failed(self) -> bool:
        """Return whether no query can read its log now."""
        return len(self.errors()) == len(self._queries)

    def restart(self, alias: str, patience_seconds: float = 10.0) -> None:
        """Restart the queries of a cluster between two micro-batches, because their starting options have changed.

        Does not wait for them. Past *patience_seconds* the micro-batch in flight is interrupted.
        """
        for name, supervised in self._queries.items():
            if _cluster_of(name) == alias:
                supervised.ends_by = time.monotonic() + patience_seconds

    def stop(self, patience_seconds: float = 60.0) -> None:
        """End all queries, letting the micro-batch in flight finish; past *patience_seconds* it is interrupted."""
        self._over.set()
        deadline = time.monotonic() + patience_seconds
        for name, supervised in self._queries.items():
            if supervised.start is not None:
                self._take(name, supervised)
            if supervised.query is not None:
                _let_end(supervised.query, deadline)
        for held in self._held:
            held.let_go()
        if self._is_silent and not self._stop.is_set():  # the job goes on, with other queries
            self._is_silent = False
            hear_batches(_is_no_stop)

    def _unfinished(self) -> list[_Supervised]:
        return [supervised for name, supervised in self._queries.items() if not self._has_ended(name, supervised)]

    def _has_ended(self, name: str, supervised: _Supervised) -> bool:
        if supervised.start is not None:
            if not supervised.start.done():
                return False
            self._take(name, supervised)
        if supervised.query is None:
            return True  # it could not be started, or there is nothing to read
        if not supervised.query.isActive:
            supervised.error = supervised.error or failure_of(supervised.query)
        return not supervised.query.isActive

    def _start(self, name: str, supervised: _Supervised) -> None:
        supervised.start = start = started(name, supervised.starter)
        # Most starts complete at once. All together wait no longer than one poll, however many clusters do not answer.
        wait([start], _POLL_SECONDS / len(self._queries))
        if start.done():
            self._take(name, supervised)

    def _take(self, name: str, supervised: _Supervised) -> None:
        """Take the result of a start; one that has not completed is given up."""
        start, supervised.start = supervised.start, None
        assert start is not None
        supervised.query = supervised.error = None
        if not start.done():
            start.add_done_callback(stop_started)
        elif (problem := start.exception()) is not None:
            supervised.error = reason_of(problem)
            self._back_off(name, supervised)
            return
        else:
            supervised.query = start.result()
        supervised.was_started = True
        if supervised.query is None:
            supervised.retry_at = time.monotonic() + FIRST_BACK_OFF_SECONDS

    def _revive(self, name: str, supervised: _Supervised) -> None:
        if supervised.start is not None and supervised.start.done():
            self._take(name, supervised)
        query = supervised.query
        if supervised.start is not None or (query is not None and self._is_ending(query, supervised)):
            return
        if query is not None and query.isActive:
            if supervised.failures and query.lastProgress is not None:
                supervised.failures = 0
            return
        if supervised.ends_by is not None:
            supervised.query = supervised.ends_by = supervised.ending = None
            supervised.retry_at = 0.0
        elif query is not None:
            supervised.error = failure_of(query) or "ended without an error"
            supervised.query = None
            self._back_off(name, supervised)
        if time.monotonic() >= supervised.retry_at:
            self._start(name, supervised)

    def _is_ending(self, query: StreamingQuery, supervised: _Supervised) -> bool:
        """Return whether a query to be restarted still runs; stop it once it is idle or its time is up.

        One that is told to stop counts as inactive at once, but has its name until its last micro-batch is over.
        """
        if supervised.ends_by is None:
            return False
        if supervised.ending is not None:
            return supervised.ending.is_alive()
        if query.isActive and (not query.status["isTriggerActive"] or time.monotonic() > supervised.ends_by):
            # Spark waits there for the query to terminate, which an unresponsive cluster may delay.
            supervised.ending = ending = threading.Thread(target=query.stop, name=f"end {query.name}", daemon=True)
            ending.start()
            ending.join(_POLL_SECONDS)
            return ending.is_alive()
        return query.isActive

    def _back_off(self, name: str, supervised: _Supervised) -> None:
        pause = min(FIRST_BACK_OFF_SECONDS * 2**supervised.failures, LONGEST_BACK_OFF_SECONDS)
        supervised.failures += 1
        supervised.retry_at = time.monotonic() + pause
        if self._must_end:
            return  # at shutdown: it was told to end, or fails with the rest
        why = with_full_disk(str(supervised.error), self._folders)
        logger.error("query %s failed, next try in %.0f s: %s", name, pause, why)


def _cluster_of(name: str) -> str:
    return name.partition(" ")[0]  # no alias has a space


def _let_end(query: StreamingQuery, deadline: float) -> None:
    while query.isActive:
        if not query.status["isTriggerActive"] or time.monotonic() > deadline:
            query.stop()
        time.sleep(0.02)


def _is_no_stop(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], StopRequestedError))
