"""When a query's next micro-batch begins: soon while it brings what targets wait for, else once per interval.

Spark's own trigger knows one interval for all of them. So the query runs without one, a micro-batch ends with the pause
after it, and where nothing is new Spark looks again after the interval: an idle query costs what it did.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from offset_sync.ingest.query_supervisor import BatchFunction

_LOOKS_AGAIN = "spark.sql.streaming.pollingDelay"
_REST = 0.1
"""Of the time that a micro-batch took, the pause after it at least."""
_MOST_OFTEN = 4
"""So often one begins in an interval at most: small ones cost nearly as much as large ones, and each adds to tables."""


class Pace:
    """Of the queries of one job, whose micro-batches are to begin once per *interval*, or sooner; zero: at once.

    No pause lasts when it is *over*. With *is_once* there is none, and a query ends where its log ended.
    """

    def __init__(
        self,
        interval: timedelta,
        over: threading.Event,
        *,
        is_once: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval_s, self._over = interval.total_seconds(), over
        self._is_once, self._now = is_once, now

    def begin(self, spark: SparkSession, writer: DataStreamWriter) -> StreamingQuery:
        """Start the query that *writer* describes; its function has to be one of :meth:`after`."""
        if self._is_once:
            return writer.trigger(availableNow=True).start()
        if self._interval_s:
            spark.conf.set(_LOOKS_AGAIN, f"{round(self._interval_s * 1000)}ms")
        return writer.trigger(processingTime="0 seconds").start()

    def after(self, batch: BatchFunction, is_urgent: Callable[[], bool]) -> BatchFunction:
        """Return *batch* with the pause after it; *is_urgent* says then whether more like it should come soon."""

        def paced(records: DataFrame, batch_id: int) -> None:
            began = self._now()
            batch(records, batch_id)
            if not self._is_once:
                self._over.wait(pause_s(self._now() - began, self._interval_s, is_urgent=is_urgent()))

        return paced


def pause_s(took_s: float, interval_s: float, *, is_urgent: bool) -> float:
    """Return how long nothing is read after a micro-batch that *took_s*; all in seconds.

    A tenth of what it took at least, so that a driver with more to do than it can leaves the machine free in between,
    and never longer than the interval. Without an interval nothing is waited for.

    >>> pause_s(0.5, 1.0, is_urgent=True), pause_s(0.5, 1.0, is_urgent=False), pause_s(8.0, 1.0, is_urgent=False)
    (0.05, 0.5, 0.8)
    """
    shortest_s = interval_s / _MOST_OFTEN if is_urgent else interval_s
    return max(shortest_s - took_s, min(_REST * took_s, interval_s))
