"""Whether writes may still be sent, and the tables for a driver that may be overtaken.

A process may be stopped for any time between two instructions, and somebody else may have taken over meanwhile. So
whoever writes asks twice: once so that the lease is looked at anew, and again for each request, as late as possible. In
the driver the lease is asked, in a task the time that has passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from offset_sync.state.failpoints import in_append
from offset_sync.tables.data_files import DataFile
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.rows import TopicNames
from offset_sync.tables.store import TableStore

TASK_S = 10.0
"""So long a task may write after its start: it cannot look at the lease itself."""


def elapsed_s() -> float:
    """Return seconds that only grow; on Linux the time in which the machine was suspended counts too."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Fence(Protocol):
    """Lets writes through as long as nobody else has taken over."""

    def renew(self) -> None:
        """Make sure that writes may be sent from now on, for a moment.

        Raises TakenOverError where somebody else has taken over, TableError where nobody can tell.
        """

    def is_open(self) -> bool:
        """Return whether a request may be sent at this instant; costs nothing."""


class OpenFence:
    """For whoever cannot be overtaken."""

    def renew(self) -> None:
        """Nothing has to be made sure of."""

    def is_open(self) -> bool:
        """Return True."""
        return True


class TaskFence:
    """Open for *seconds* from when it was made: by the clock of the machine that a task runs on, and no other.

    The driver has looked at the lease before it started the task, and ends the task when the lease is lost.
    """

    def __init__(self, seconds: float = TASK_S, now: Callable[[], float] = elapsed_s) -> None:
        self._now, self._ends_at = now, now() + seconds

    def renew(self) -> None:
        """Nothing can be made sure of here."""

    def is_open(self) -> bool:
        """Return whether there is time left."""
        return self._now() < self._ends_at


class FencedTables(TableStore):
    """Tables under *root*, whose appends ask *fence* first."""

    def __init__(self, root: str, fence: Fence, files: Files | None = None, names: TopicNames | None = None) -> None:
        super().__init__(root, files, names, in_append)
        self._fence = fence

    def append(
        self,
        table: Table,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: Sequence[DataFile] = (),
    ) -> None:
        """Append as :class:`TableStore` does; raises TakenOverError, and appends nothing, for a driver that is over."""
        if rows.num_rows or written:
            self._fence.renew()
        super().append(table, rows, writer, written)


class UnwrittenTables(TableStore):
    """Tables that are only read: what is appended is dropped."""

    def append(
        self,
        table: Table,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: Sequence[DataFile] = (),
    ) -> None:
        """Drop *rows*."""
