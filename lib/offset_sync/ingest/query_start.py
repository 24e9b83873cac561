"""The start of a query, in a thread of its own: whoever waits for a silent cluster there, nobody else has to."""

from __future__ import annotations

import threading
from typing import Protocol

from pyspark.sql.streaming.query import StreamingQuery


class QueryStarter(Protocol):
    """Who starts one query."""

    def start(self) -> StreamingQuery | None:
        """Start it; None: there is nothing to read yet, ask again later."""


class QueryStart:
    """One start by *starter*, which begins at once."""

    def __init__(self, name: str, starter: QueryStarter) -> None:
        self._starter, self._lock = starter, threading.Lock()
        self._query: StreamingQuery | None = None
        self._problem: Exception | None = None
        self._is_given_up = False
        self._thread = threading.Thread(target=self._run, name=f"start {name}", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """True when :meth:`take` has something to say."""
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
