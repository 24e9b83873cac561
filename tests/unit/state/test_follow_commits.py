"""A reader that follows the table of commits knows what the driver knows that writes it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fakes.clusters import MemoryIndex
from fakes.driver import Driver, differences, driver, known, live, read_to_the_end
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import follow_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS


class Follower:
    """A book that is kept up with the tables only."""

    def __init__(self, tables: MemoryTables) -> None:
        self.state = SyncState(config_of(["X", "Y", "Z"]), MemoryIndex())
        self.offsets = self.state.offsets
        self.tables: Any = tables
        self.lives = CommitLogIncarnations(self.tables)
        self.version = 0

    def follow(self) -> None:
        self.version = follow_commits(self.tables, self.state, self.version, self.lives)


def seen(made: Any) -> dict[Any, Any]:
    """What is known but for what was written and never read back, which is no table's business."""
    return {
        place: {name: value for name, value in state.items() if name != "pending"}
        for place, state in known(made).items()
        if state["log_offset"] >= 0
    }


def lived(seed: int) -> Driver:
    made = driver()
    live(made, random.Random(seed), 600)
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_in_steps_of_any_size_it_ends_up_with_what_the_driver_knows(seed: int) -> None:
    made = lived(seed)
    read_to_the_end(made)
    rng, written = random.Random(seed), made.written.versions[OFFSET_COMMITS.name]
    growing = MemoryTables({OFFSET_COMMITS.name: [], LOG_INCARNATIONS.name: []})
    follower, whole = Follower(growing), Follower(made.written)
    while len(growing.versions[OFFSET_COMMITS.name]) < len(written):
        have = len(growing.versions[OFFSET_COMMITS.name])
        growing.versions[OFFSET_COMMITS.name] += written[have : have + rng.randint(1, 9)]
        follower.follow()
        assert follower.version == len(growing.versions[OFFSET_COMMITS.name])
    whole.follow()
    told = seen(made)
    kinds = {(state["is_deleted"], state["actual_is_own"], state["rewound_ms"] >= 0) for state in told.values()}
    assert len(kinds) >= 5, "a life without deletions, rewinds or own commits proves nothing"
    assert differences(seen(follower), told) == []
    assert differences(seen(whole), told) == []


def test_what_is_read_twice_changes_nothing() -> None:
    made = lived(3)
    read_to_the_end(made)
    follower = Follower(made.written)
    follower.follow()
    before = seen(follower)
    follower.version = 1
    follower.follow()
    assert differences(seen(follower), before) == []


def test_where_nothing_was_added_nothing_is_read() -> None:
    made = lived(4)
    follower = Follower(made.written)
    follower.follow()
    made.written.reads.clear()
    follower.follow()
    assert made.written.reads == []
    assert follower.version == made.written.version(OFFSET_COMMITS)
