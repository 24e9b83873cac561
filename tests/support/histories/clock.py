"""Time that passes only when it is told to, for the tables, their files, and what delta-rs deletes by age."""

from __future__ import annotations

import os
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from histories.disk import Disk
from offset_sync.state import seal
from offset_sync.tables import maintenance, table_log, transaction_log
from offset_sync.tables.table_log import TableLog

HOUR_S = 3600
_LAG_S = 400 * 24 * HOUR_S
"""This clock is so far behind the machine's, by which delta-rs goes: so all ages that it is told are positive."""
_DELETED, _OF_ENTRIES = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"


def keep_for(log: TableLog, keep: timedelta) -> None:
    """Have the files of a table be kept for so long by a :class:`Clock`, as ``Maintainer.prepare`` has by any other.

    delta-rs leaves what it takes for expired out of a checkpoint.
    """
    kept_s = {_DELETED: keep.total_seconds() + _LAG_S, _OF_ENTRIES: keep.total_seconds()}
    log.set_properties({name: f"interval {int(seconds)} seconds" for name, seconds in kept_s.items()})


class Clock:
    """Seconds since the beginning; in the place of the module ``time`` where the tables ask for it."""

    def __init__(self, disk: Disk) -> None:
        self.seconds = 0.0
        self._disk, self._begins = disk, time.time() - _LAG_S

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        for module in (table_log, transaction_log, maintenance, seal):
            patch.setattr(module, "time", self)
        clean, vacuum = DeltaTable.cleanup_metadata, DeltaTable.vacuum

        def cleanup_metadata(table: DeltaTable) -> None:
            """Show delta-rs the entries as old as they are."""
            self._stamp()
            log, lag_s = Path(table.table_uri.removeprefix("file://"), "_delta_log"), time.time() - self.time()
            _shift(log, lag_s)
            clean(table)
            _shift(log, -lag_s)

        def vacuumed(table: DeltaTable, retention_hours: float | None = None, **named: Any) -> list[str]:
            (seconds,) = re.findall(r"\d+", table.metadata().configuration[_DELETED])
            kept_s = int(seconds) - _LAG_S if retention_hours is None else retention_hours * HOUR_S
            self._stamp()
            named |= {"retention_hours": round((time.time() - self.time() + kept_s) / HOUR_S)}
            return vacuum(table, enforce_retention_duration=False, **named)

        patch.setattr(DeltaTable, "cleanup_metadata", cleanup_metadata)
        patch.setattr(DeltaTable, "vacuum", vacuumed)

    def time(self) -> float:
        return self._begins + self.seconds

    @staticmethod
    def monotonic() -> float:
        return time.monotonic()

    @staticmethod
    def sleep(_seconds: float) -> None:
        """Lose no time."""

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass; files that were written since the last time are as old as that."""
        self._stamp()
        self.seconds += seconds

    def _stamp(self) -> None:
        for path in self._disk.files():
            if path.stat().st_mtime > self.time() + 1:  # by the machine's clock
                os.utime(path, (self.time(), self.time()))


def _shift(folder: Path, seconds: float) -> None:
    for path in folder.iterdir():
        at = path.stat().st_mtime + seconds
        os.utime(path, (at, at))
