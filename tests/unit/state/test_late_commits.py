"""Commits that come into the table late, of a driver that was overtaken: a reader knows what a new driver knows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fakes.clusters import MemoryIndex
from fakes.driver import known
from fakes.short_life import Life
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import follow_commits, restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS
from offset_sync.tables.store import TableStore


@pytest.mark.parametrize("last", [120, -1], ids=["it was a rewind", "it is the newest word"])
def test_a_follower_sees_what_is_late(tables: TableStore, tmp_path: Path, last: int) -> None:
    life = Life(tables, tmp_path, "XY")
    life.commit("Y", 0, 180, 0)
    life.commit("X", 0, 100, 1000)
    life.commit("X", 2, last, 3000)
    followed, lives = SyncState(life.site.config, MemoryIndex()), CommitLogIncarnations(tables)
    restore_commits(tables, followed, lives)
    before = known(SimpleNamespace(offsets=followed.offsets))  # type: ignore[arg-type]
    version = tables.version(OFFSET_COMMITS)
    life.commit("X", 1, 20, 2000)
    follow_commits(tables, followed, version, lives)
    fresh = SyncState(life.site.config, MemoryIndex())
    restore_commits(tables, fresh, CommitLogIncarnations(tables))
    found, wanted = (known(SimpleNamespace(offsets=each.offsets)) for each in (followed, fresh))  # type: ignore[arg-type]
    assert found == wanted != before
