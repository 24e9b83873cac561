"""Why a streaming query failed, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offset_sync.kafka.requests import explained

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_NO_CLIENT = ("Failed to construct", "Failed to create")
"""So Kafka's Java clients begin when one of them cannot be made."""


def failure_of(query: StreamingQuery) -> str | None:
    """Return why a query has ended, in one line; None: without an error."""
    problem = query.exception()
    if problem is None:
        return None
    line = first_line(str(problem))
    return with_root(line, str(getattr(problem, "_cause", ""))) if line.startswith(_NO_CLIENT) else line


def with_root(line: str, cause: str) -> str:
    """Return *line* with what lies below: of a client that cannot be made Kafka tells no more, say of a lost file."""
    roots = [each.partition("Caused by: ")[2].strip() for each in cause.splitlines() if "Caused by: " in each]
    return f"{line}: {roots[-1][:300]}" if roots else line


def first_line(text: str) -> str:
    """Return the line that says why; Spark's messages go on with the plan and the stack."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("at ")]  # of the stack
    full = [line for line in lines if "No space left on device" in line]
    causes = full or [line for line in lines if "Error" in line or "Exception" in line]
    return explained((causes[-1] if causes else lines[0] if lines else "")[:500])
