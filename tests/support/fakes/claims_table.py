"""A table of claims in memory, with a clock that a test sets."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from fakes.tables import MemoryTables
from offset_sync.state.lease import Lease
from offset_sync.tables.definition import Table


@dataclass
class Watched(MemoryTables):
    """Tables that count who looks, and are *silent* when a test wants it."""

    looks: int = 0
    look_s: float = 0.0
    is_silent: bool = False
    seconds: list[float] = field(default_factory=lambda: [1000.0])

    def version(self, table: Table) -> int:
        self.looks += 1
        found = super().version(table)
        self.pass_time(self.look_s)  # what a look finds may be as old as its beginning
        if self.is_silent:
            raise OSError("no such disk\nat a stack")
        return found

    def lease(self, job: str = "sync_offsets") -> Lease:
        return Lease(self, job, threading.Event(), lambda: self.seconds[0])

    def claimed(self, job: str = "sync_offsets", *groups: str) -> Lease:
        lease = self.lease(job)
        lease.claim(groups)
        return lease

    def pass_time(self, seconds: float) -> None:
        self.seconds[0] += seconds
