"""Commits restored from tables without Spark."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow.compute as pc

from fakes.tables import MemoryTables
from offset_sync.model.values import GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS
from offset_sync.tables.store import TableStore
from oracles.commit_lives import replay


def restore(
    tables: MemoryTables | TableStore, state: SyncState, lives: CommitLogIncarnations, only: Collection[str] = ("X",)
) -> int:
    """Do as ``restore_commits`` does by Spark."""
    lives.refresh()
    rows = tables.all_rows(OFFSET_COMMITS)
    for alias in only:
        mine = rows.filter(pc.equal(rows.column("cluster"), alias))
        keys = zip(*(mine.column(name).to_pylist() for name in GroupPartition._fields), strict=True)
        state.offsets.ids([GroupPartition(*key) for key in keys])
        replay(state, alias, mine, lives)
        lives.take(alias)
    return 0
