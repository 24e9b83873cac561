"""How far a running query is."""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery


def has_caught_up(query: StreamingQuery) -> bool:
    """Return whether *query* has read its log up to the end once."""
    progress = query.lastProgress
    if progress is None:
        # A log without anything new makes no progress report.
        return not query.status["isDataAvailable"] and query.status["message"].startswith("Waiting for")
    return all(source["endOffset"] == source["latestOffset"] for source in progress["sources"])
