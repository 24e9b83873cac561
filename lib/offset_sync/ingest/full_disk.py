"""Which disk is full, and what to do: Java says only that one is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

_FULL = "No space left on device"
_LEAST_FREE = 1 << 20


def is_of_full_disk(problem: BaseException) -> bool:
    """Return whether somebody, here or in the JVM, has found a disk full."""
    return _FULL in str(problem)


def with_full_disk(line: str, folders: Sequence[str]) -> str:
    """Return *line*, and which of the *folders* it is about where it says that a disk is full.

    The folder for temporary files is one more. Where none of them is full here, or not any more, all are named.
    """
    if _FULL not in line:
        return line
    places = [*(each.removeprefix("file://") for each in folders), tempfile.gettempdir()]
    named = ", ".join([place for place in places if _is_full(place)] or places)
    return f"the disk is full: make room in {named} ({line})"


def _is_full(place: str) -> bool:
    """Return whether a local folder has no room; one that is elsewhere, or not there, has."""
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _LEAST_FREE or found.f_favail == 0 < found.f_files
