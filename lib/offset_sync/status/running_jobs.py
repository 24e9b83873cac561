"""Which jobs run now, by the table of drivers: whether it is worth while to wait for them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from offset_sync.state.claims import Claim, holders, to_claims
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore


def process_exists(pid: int) -> bool:
    """Return whether this machine has a process of that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


class RunningJobs:
    """Reads who holds each job, anew whenever the table has a version more."""

    def __init__(self, tables: TableStore, is_alive: Callable[[int], bool] = process_exists) -> None:
        self._tables, self._is_alive = tables, is_alive
        self._version: int | None = None
        self._claims: list[Claim] = []

    def has_ended(self, job: str) -> bool:
        """Return whether the last driver of *job* said that it ended, as after ``--once``; or there was none."""
        holder = self._holder(job)
        return holder is None or holder.ended_at is not None

    def is_running(self, job: str) -> bool:
        """Return whether a driver of *job* may be at work. Errs to True: one on another machine is not looked for."""
        holder = self._holder(job)
        if holder is None or holder.ended_at is not None:
            return False
        return holder.host != socket.gethostname() or self._is_alive(holder.pid)

    def _holder(self, job: str) -> Claim | None:
        version = self._tables.version(DRIVERS, self._version)
        if version != self._version:
            self._claims += to_claims(self._tables.rows_since(DRIVERS, self._version, version))
            self._version = version
        return holders(self._claims, job, [None]).get(None)
