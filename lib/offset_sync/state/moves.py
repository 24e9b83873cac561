"""Where ``cutover apply`` has moved groups: the steps ``home`` of the table ``cutovers``."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.state.group_homes import Move
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.protocol import Tables
from offset_sync.tables.report_tables import CUTOVERS

HOME = "home"
"""Column ``step`` of the row that is written once a group's offsets are committed where it was moved to."""


class Moves:
    """Follows the moves in *tables*; not for several threads."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._version: int | None = None
        self._seen: set[_Row] = set()

    def follow(self, state: SyncState) -> bool:
        """Bring *state* up to date; return whether any group was moved since the last call.

        What is noticed while we look on happened now, by our clock: that of the machine on which ``cutover`` ran is not
        believed. What was there before has that machine's time, but no time that is still to come.
        """
        version = self._tables.version(CUTOVERS, self._version)
        if version in (0, self._version):
            self._version = version
            return False
        rows = self._tables.rows_since(CUTOVERS, self._version, version)
        is_live, self._version = self._version is not None, version
        now_ms = state.now_ms()
        # Rows may come again: they did not happen now.
        fresh = [row for row in _home_rows(rows) if row not in self._seen]
        self._seen.update(fresh)
        with state.lock:
            state.homes.note_moves(
                Move(row.group_id, row.stream, row.cluster, now_ms if is_live else min(row.at_ms, now_ms))
                for row in fresh
            )
        return bool(fresh)


class _Row(NamedTuple):
    """A step ``home``, at the time of the machine on which ``cutover`` ran."""

    cutover_id: str
    group_id: str
    stream: str
    cluster: str
    at_ms: int


def _home_rows(rows: pa.Table) -> list[_Row]:
    is_home = pc.and_(pc.equal(rows.column("step"), HOME), pc.equal(rows.column("result"), "done"))
    rows = rows.filter(is_home).sort_by("at")
    columns = [rows.column(name) for name in ("cutover_id", "group_id", "stream", "target_cluster")]
    at_ms = pc.divide(rows.column("at").cast(pa.int64()), 1000)
    return [_Row(*each) for each in zip(*(column.to_pylist() for column in [*columns, at_ms]), strict=True)]
