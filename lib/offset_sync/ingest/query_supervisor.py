"""Runs streaming queries side by side: a failed one is restarted and never stops the others.

Each query has a thread of its own, which starts it and waits for its end: an unresponsive cluster blocks no other one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.ingest.query_errors import failure_of, reason_of, with_full_disk
from offset_sync.model.errors import TakenOverError
from offset_sync.spark.jvm import silence_batches
from offset_sync.tables.files import for_hadoop

logger = logging.getLogger(__name__)

BatchFunction = Callable[[DataFrame, int], None]

FIRST_BACK_OFF_SECONDS = 1.0
LONGEST_BACK_OFF_SECONDS = 60.0
_POLL_SECONDS, _ENDING_POLL_SECONDS = 0.2, 0.02
_NO_OFFSET = "null"
"""The latest offset, as pyspark has it, of polls, and of a micro-batch that was planned before the query started."""
_OF_A_LOG = "KafkaV2"
"""How Spark's description of a log's source begins."""
STOPPED = "stopped before its end was reached"


def has_caught_up(query: StreamingQuery) -> bool:
    """Return whether *query* has read its log up to the end once; one poll finds all that there is.

    A micro-batch that a previous start has planned ends where the log ended then. Errs to False.
    """
    progress = query.lastProgress
    if progress is None or any(map(_is_of_before, progress["sources"])):
        # A log without anything new makes no progress report.
        return not query.status["isDataAvailable"] and query.status["message"].startswith("Waiting for")
    return all(source["latestOffset"] in (_NO_OFFSET, source["endOffset"]) for source in progress["sources"])


def _is_of_before(source: Mapping[str, str]) -> bool:
    return source["latestOffset"] == _NO_OFFSET and source["description"].startswith(_OF_A_LOG)


class QueryStarter(Protocol):
    """Starts one query."""

    def start(self) -> StreamingQuery | None:
        """Start it; None: there is nothing to read yet, try again later."""


class StopRequestedError(Exception):
    """Raised in a micro-batch that would begin after the job was asked to stop."""


@dataclass
class _Supervised:
    """A query, which a thread of its own starts and waits for; *error* is why it does not run."""

    starter: QueryStarter
    query: StreamingQuery | None = None
    error: str | None = None
    is_starting: bool = True
    is_done: bool = False  # it was to read up to an end, and has ended by itself
    ends_by: float | None = None  # it is being restarted; by then it is interrupted
    thread: threading.Thread | None = None

    @property
    def has_caught_up(self) -> bool:
        query = self.query  # its thread may clear it
        if self.error is not None or self.is_starting:
            return False
        return query is None or (query.isActive and has_caught_up(query))

    @property
    def is_alive(self) -> bool:
        return self.thread is not None and self.thread.is_alive()


class QuerySupervisor:
    """Named queries of one job; they end when *stop* is set. *over* is set when they have to."""

    def __init__(self, stop: threading.Event, over: threading.Event | None = None, folders: Sequence[str] = ()) -> None:
        self._stop, self._over = stop, over or threading.Event()
        self._folders = folders
        self._queries: dict[str, _Supervised] = {}
        self._deadline, self._noting = float("inf"), threading.Lock()

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
                if not self._must_end():
                    return function(batch, batch_id)
            except TakenOverError:
                self._stop.set()
            except StopRequestedError:
                pass
            silence_batches(_is_no_stop)
            raise StopRequestedError

        return guarded

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
        writer = records.writeStream.queryName(name).option("checkpointLocation", for_hadoop(checkpoint))
        return writer.foreachBatch(self.stop_between_batches(function)).trigger(**trigger).start()

    def run_once(self) -> dict[str, str]:
        """Start every query, wait for all to end, and return one line for each that failed or was stopped before."""
        self._begin(is_once=True)
        while not self._must_end() and not all(each.is_done for each in self._queries.values()):
            time.sleep(_POLL_SECONDS)
        self.stop()
        for each in self._queries.values():
            each.error = each.error if each.is_done else STOPPED
        return self.errors()

    def failures(self) -> list[str]:
        """Return one line for each query that failed; queries are named after their clusters, and what they read."""
        errors = [(_cluster_of(name), error) for name, error in self.errors().items()]
        return [f"clusters.{alias}: {error.removeprefix(f'clusters.{alias}: ')}" for alias, error in errors]

    def run_until_stopped(self, every_poll: Callable[[], None] = lambda: None) -> None:
        """Keep every query running until shutdown; a failed one is restarted with exponential back-off."""
        self._begin(is_once=False)
        while not self._must_end():
            every_poll()
            self._stop.wait(_POLL_SECONDS)
        self.stop()

    def have_caught_up(self) -> bool:
        """Return whether every query has read its log up to the end once, or cannot read it now."""
        return all(supervised.error is not None or supervised.has_caught_up for supervised in self._queries.values())

    def has_caught_up(self, name: str) -> bool:
        """Return whether a query has read its log up to the end once; true if there is nothing to read."""
        return self._queries[name].has_caught_up

    def errors(self) -> dict[str, str]:
        """Return the present error of every query that is not running."""
        return {name: with_full_disk(s.error, self._folders) for name, s in self._queries.items() if s.error}

    def restart(self, alias: str, patience_seconds: float = 10.0) -> None:
        """Restart the queries of a cluster between two micro-batches, because their starting options have changed.

        Does not wait for them. Past *patience_seconds* the micro-batch in flight is interrupted.
        """
        for name, supervised in self._queries.items():
            if _cluster_of(name) == alias:
                supervised.ends_by = time.monotonic() + patience_seconds

    def stop(self, patience_seconds: float = 60.0) -> None:
        """End all queries, letting the micro-batch in flight finish; past *patience_seconds* it is interrupted.

        A start in progress is not waited for; its query is ended when it comes.
        """
        self._deadline = time.monotonic() + patience_seconds
        with self._noting:
            self._over.set()
        for each in self._queries.values():
            while each.is_alive and not each.is_starting:
                time.sleep(_ENDING_POLL_SECONDS)

    def _begin(self, *, is_once: bool) -> None:
        for name, each in self._queries.items():
            each.thread = threading.Thread(target=self._run, args=(name, each, is_once), name=f"query {name}")
            each.thread.daemon = True
            each.thread.start()

    def _run(self, name: str, each: _Supervised, is_once: bool) -> None:
        """Start a query and wait for its end, again and again; an unresponsive cluster blocks this thread only."""
        failures = 0
        while not self._must_end():
            query, problem = _started(each.starter)
            with self._noting:
                if not self._must_end():
                    each.error, each.query, each.is_starting = problem, query, False
            if query is not None:
                problem, has_progressed = self._awaited(each, query)
                failures = 0 if has_progressed else failures
            if self._must_end():  # it was told to end, or fails with the rest
                return
            if is_once:
                each.error, each.is_done = problem, True
                return
            if each.ends_by is None:
                if query is not None:
                    problem = problem or "ended without an error"
                    each.error, each.query = problem, None
                pause = FIRST_BACK_OFF_SECONDS
                if problem is not None:
                    pause, failures = min(pause * 2**failures, LONGEST_BACK_OFF_SECONDS), failures + 1
                    why = with_full_disk(problem, self._folders)
                    logger.error("query %s failed, next try in %.0f s: %s", name, pause, why)
                self._wait(pause, each)
            each.is_starting, each.query, each.ends_by = True, None, None  # in this order: other threads read them

    def _awaited(self, each: _Supervised, query: StreamingQuery) -> tuple[str | None, bool]:
        """Wait for the end of a query, and have it end when it is idle or its time is up.

        Return why it failed, and whether it has made progress before.
        """
        try:
            while query.isActive:
                ends_by = self._deadline if self._must_end() else each.ends_by
                if ends_by is not None and (not query.status["isTriggerActive"] or time.monotonic() > ends_by):
                    query.stop()  # Spark waits there for the query to terminate, which a silent cluster may delay
                time.sleep(_POLL_SECONDS if ends_by is None else _ENDING_POLL_SECONDS)
            return failure_of(query), query.lastProgress is not None
        except Exception as problem:  # else this thread would end, and nobody would start the query again
            with suppress(Exception):
                query.stop()  # or it would go on by itself, and keep its name from the next one
            return reason_of(problem), False

    def _wait(self, seconds: float, each: _Supervised) -> None:
        """Wait so long, or until the query is to be restarted or to end."""
        until = time.monotonic() + seconds
        while not self._must_end() and each.ends_by is None and time.monotonic() < until:
            time.sleep(min(_POLL_SECONDS, seconds))


def _started(starter: QueryStarter) -> tuple[StreamingQuery | None, str | None]:
    """Return the query, and why it could not be started."""
    try:
        return starter.start(), None
    except BaseException as problem:
        return None, reason_of(problem)


def _cluster_of(name: str) -> str:
    return name.partition(" ")[0]  # no alias has a space


def _is_no_stop(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], StopRequestedError))
