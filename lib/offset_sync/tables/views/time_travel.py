"""Which version of a table stood at a moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from offset_sync.model.errors import TableError


class Version(NamedTuple):
    """A version of a Delta table, and when it was committed."""

    number: int
    at: datetime


def version_at(table_path: str, history: Sequence[Version], moment: datetime) -> int | None:
    """Return the number of the newest version of the table at *table_path* that is not younger than *moment*.

    None: the table did not exist yet. Raises TableError where it may have, but the log does not reach back so far.
    """
    if found := [version for version in history if version.at <= moment]:
        return max(found).number
    first = min(history)
    if first.number == 0:
        return None
    raise TableError(f"{table_path}: its log goes back to {first.at.isoformat()} only; ask for a later moment")
