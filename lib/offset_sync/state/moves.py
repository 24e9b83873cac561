"""Where ``cutover apply`` has moved groups: the steps ``home`` of the table ``cutovers``."""

from __future__ import annotations

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
        self._is_live = False

    def follow(self, state: SyncState) -> bool:
        """Bring *state* up to date; return whether any group was moved since the last call.

        What is noticed while we look on happened now, by our clock: that of the machine on which ``cutover`` ran is not
        believed. What was there before has that machine's time, but no time that is still to come.
        """
        is_live, self._is_live = self._is_live, True
        version = self._tables.version(CUTOVERS, self._version)
        if version == self._version or version == 0:
            return False
        rows = self._tables.rows_since(CUTOVERS, self._version, version)
        self._version = version
        is_home = pc.and_(pc.equal(rows.column("step"), HOME), pc.equal(rows.column("result"), "done"))
        rows = rows.filter(is_home).sort_by("at")
        now_ms = state.now_ms()
        with state.lock:
            state.homes.note_moves(
                Move(*each[:3], now_ms if is_live else min(each[3], now_ms)) for each in _moves(rows)
            )
        return bool(rows.num_rows)


def _moves(rows: pa.Table) -> list[tuple[str, str, str, int]]:
    at_ms = pc.divide(rows.column("at").cast(pa.int64()), 1000)
    columns = [rows.column(name) for name in ("group_id", "stream", "target_cluster")]
    return list(zip(*(each.to_pylist() for each in [*columns, at_ms]), strict=True))
