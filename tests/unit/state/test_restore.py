"""A new driver that has read the tables knows what the old one knew, and goes on as if nothing had happened."""

from __future__ import annotations

from typing import Any

import pytest

from builders.commit_histories import History, known, new_state
from fakes.commit_log import restore
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.highest_indexed import highest_captured
from offset_sync.state.replay import follow_commits, restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS
from offset_sync.tables.store import TableStore


def but_rewinds(state: SyncState) -> dict[Any, dict[str, Any]]:
    """Return what is known; of rewinds the latest is restored, and the last one replayed."""
    return {key: each | {"rewound_ms": None} for key, each in known(state).items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_restored_and_followed_offsets_are_the_present_ones(tables: TableStore, seed: int) -> None:
    history = History(seed)
    history.go_on(150)
    history.write(tables)
    followed, lives = new_state(), CommitLogIncarnations(tables)
    restore_commits(tables, followed, lives)
    version = tables.version(OFFSET_COMMITS)
    history.go_on(60)
    history.write(tables)
    replayed = new_state()
    restore(tables, replayed, CommitLogIncarnations(tables), "XY")
    for _ in range(2):  # what is read twice changes nothing
        assert follow_commits(tables, followed, version, lives) == version + 1
        assert but_rewinds(followed) == but_rewinds(replayed)
    fresh = new_state()
    assert restore_commits(tables, fresh, CommitLogIncarnations(tables)) > 0
    assert but_rewinds(fresh) == but_rewinds(replayed)
    ends = {ClusterPartition(alias, CONSUMER_OFFSETS, number): end for (alias, number), end in history.ends.items()}
    assert highest_captured(tables, lives) == {log: end for log, end in ends.items() if end}
