"""What ``cutover apply`` has done, by the table ``cutovers``: where it has moved groups, and what it has committed.

A commit is in the table before it is sent. So it is ours in the log of the target, even if the command was killed then.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import GroupPartition
from offset_sync.state.group_homes import Move
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore

HOME = "home"
"""``step`` of the row that is written once a group's offsets are committed where it was moved to."""
COMMIT = "commit"
"""``step`` of the rows about a partition's commit, and about what became of it."""
BEGUN = "begun"
"""``result`` in the row that is written before a commit is sent."""


class Moves:
    """Follows the moves in *tables*."""

    def __init__(self, tables: TableStore) -> None:
        self._tables = tables
        self._version: int | None = None
        self._following = threading.Lock()
        self._seen: set[tuple[str, str, str, str]] = set()

    def follow(self, state: SyncState) -> bool:
        """Update *state*; return whether any group was moved since the last call.

        Moves that appear while we follow the table happened now, by our clock; that of the machine on which ``cutover``
        ran is not trusted. Those from before the first call have that machine's time, but no time in the future. If its
        clock is behind, commits before the move count as made after it: errs to ``COMMITTED_AT_BOTH``, for a while.
        """
        with self._following:
            return self._follow(state)

    def _follow(self, state: SyncState) -> bool:
        rows, version = self._tables.rows_since(CUTOVERS, self._version)
        is_live, self._version = self._version is not None, version
        if not rows.num_rows:
            return False
        _note_commits(state, rows, is_live=is_live)
        _note_answers(state, rows)
        now_ms = state.now_ms()
        # Rows may repeat: these did not happen now.
        fresh = [row for row in _home_rows(rows) if row[:-1] not in self._seen]
        self._seen.update(row[:-1] for row in fresh)
        with state.lock:
            # A millisecond apart, to keep their order.
            for last_ms, row in zip(range(now_ms + 1 - len(fresh), now_ms + 1), fresh, strict=True):
                at_ms = last_ms if is_live else min(row.at_ms, last_ms)
                state.homes.note_moves([Move(row.group_id, row.stream, row.cluster, at_ms)])
        return bool(fresh)


def _note_commits(state: SyncState, rows: pa.Table, *, is_live: bool) -> None:
    """Make commits that were begun pending; of those from before a start the ones after the last captured record."""
    for row in rows.filter(pc.equal(rows.column("result"), BEGUN)).to_pylist():
        if (cluster := state.offsets.clusters.get(row["target_cluster"])) is not None:
            with state.lock:
                key = state.offsets.ids([GroupPartition(row["group_id"], row["stream"], row["partition"])])
                if is_live or row["at"].timestamp() * 1000 > cluster.columns["actual_made_ms"][key[0]]:
                    cluster.own_writes.begin(key, np.array([row["target_offset"]]))


def _note_answers(state: SyncState, rows: pa.Table) -> None:
    """Have it told again of which keys the source is not the home: the command has recorded answers from there."""
    for row in rows.filter(pc.equal(rows.column("step"), COMMIT)).to_pylist():
        pair = row["source_cluster"], row["target_cluster"]
        if pair in state.last_translations:
            with state.lock:
                key = state.offsets.ids([GroupPartition(row["group_id"], row["stream"], row["partition"])])
                state.last(*pair).tell_again(key)


class _Row(NamedTuple):
    """A step ``home``, by the clock of the machine on which ``cutover`` ran."""

    cutover_id: str
    group_id: str
    stream: str
    cluster: str
    at_ms: int


def _home_rows(rows: pa.Table) -> list[_Row]:
    """Return the steps ``home``, by their time."""
    rows = rows.filter(pc.and_(pc.equal(rows.column("step"), HOME), pc.equal(rows.column("result"), "done")))
    columns = [rows.column(name) for name in ("cutover_id", "group_id", "stream", "target_cluster")]
    at_ms = pc.divide(rows.column("at").cast(pa.int64()), 1000)
    found = [_Row(*each) for each in zip(*(column.to_pylist() for column in [*columns, at_ms]), strict=True)]
    return sorted(dict.fromkeys(found), key=lambda row: row.at_ms)
