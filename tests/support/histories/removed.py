"""What keeps tables whole, taken out one at a time: a history that notices has to be found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offset_sync.state import seal
from offset_sync.state.lease import Lease
from offset_sync.tables import files, store, transaction_log
from offset_sync.tables.definition import Table
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.table_log import Change, TableLog
from offset_sync.tables.transaction_log import Version

Patch = tuple[Any, str, Any]


def _nothing(*_arguments: Any, **_named: Any) -> None:
    pass


def _entered_unchecked(
    self: Maintainer, table: Table, removed: Any, into: Any, began_at: float, *, moves: bool
) -> None:
    change = Change(into, removed, moves=moves, began_ms=int(began_at * 1000), fresh_seconds=self._keep.total_seconds())
    self._tables.log(table).commit(lambda _now: change)


def _cleaned_of_all(self: TableLog) -> None:
    with self._lock:
        table = self._checkpoint()
        table.vacuum(retention_hours=0, full=True, dry_run=False)


def _without_removes(text: str) -> list[dict[str, Any]]:
    return [each for each in _read_lines(text) if "remove" not in each]


_read_lines = transaction_log.read_json_lines
_sync, _portions = files.fsync, seal._portions

REMOVED: Mapping[str, tuple[Patch, ...]] = {
    "a version of a writer is entered once": ((Version, "has_written", lambda *_: False),),
    "a driver that was taken over writes nothing": ((Lease, "renew", _nothing),),
    "rows are synced before their entry": (
        (files, "fsync", lambda path: None if path.suffix == ".parquet" else _sync(path)),
    ),
    "an entry is synced before a write returns, and before the next": ((TableLog, "_store", _nothing),),
    "a log is repaired after a power failure": ((store, "repair_log", lambda _path: False),),
    "files to be removed are still there": ((Maintainer, "_enter", _entered_unchecked),),
    "a file gets no entry when it is old": ((Change, "is_stale", lambda *_: False),),
    "files are kept for a while": ((TableLog, "clean_up", _cleaned_of_all),),
    "a sealed file has all rows": (
        (seal, "_portions", lambda pieces: (each.slice(0, max(1, each.num_rows - 1)) for each in _portions(pieces))),
        (Maintainer, "move", lambda self, table, old, new, at: self._enter(table, old, new, at, moves=True)),
    ),
    "moved rows are not new": (
        (Change, "moves", False),
        (transaction_log, "read_json_lines", _without_removes),
    ),
    "a reader whose file is gone reads again": ((store, "_ATTEMPTS", 1),),
}
"""By what holds: what replaces the attributes that see to it."""
