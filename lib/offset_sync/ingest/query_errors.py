"""Why a streaming query failed, in one line; and which disk is full, where Java says only that one is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offset_sync.kafka.requests import explained

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
import os
import tempfile
from collections.abc import Sequence

_NO_CLIENT = ("Failed to construct", "Failed to create")
"""How the errors of Kafka's Java clients begin when one cannot be constructed."""


def failure_of(query: StreamingQuery) -> str | None:
    """Return why a query has ended, in one line; None: without an error."""
    problem = query.exception()
    return None if problem is None else reason_of(problem)


def reason_of(problem: BaseException) -> str:
    """Return the line of an error that says why, or the type of the error.

    If a client cannot be constructed, say by a missing file or a wrong login, only the root cause tells why.
    """
    line, root = first_line(str(problem)) or type(problem).__name__, problem
    while isinstance(cause := getattr(root, "_cause", None), BaseException):
        root = cause
    return f"{line}: {first_line(str(root))[:300]}" if line.startswith(_NO_CLIENT) and root is not problem else line


def first_line(text: str) -> str:
    """Return the line that says why; Spark's messages continue with the plan and the stack."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("at ")]  # of the stack
    full = [line for line in lines if "No space left on device" in line]
    causes = full or [line for line in lines if "Error" in line or "Exception" in line]
    return explained((causes[-1] if causes else lines[0] if lines else "")[:500])


_FULL = "No space left on device"
_LEAST_FREE = 1 << 20


def is_of_full_disk(problem: BaseException) -> bool:
    """Return whether a disk is full, here or in the JVM."""
    return _FULL in str(problem)


def with_full_disk(line: str, folders: Sequence[str]) -> str:
    """Return *line*; if it says that a disk is full, with those of *folders* that are.

    The folder for temporary files is one more. If none of them is full here, or not any more, all are named.
    """
    if _FULL not in line:
        return line
    places = [*(each.removeprefix("file://") for each in folders), tempfile.gettempdir()]
    named = ", ".join([place for place in places if _is_full(place)] or places)
    return f"the disk is full: make room in {named} ({line})"


def _is_full(place: str) -> bool:
    """Return whether a local folder has no room; False if it is remote or missing."""
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _LEAST_FREE or found.f_favail == 0 < found.f_files
