"""A new driver that has read the tables knows what the old one knew, and goes on as if nothing had happened."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fakes.clusters import MemoryIndex
from fakes.driver import differences, known
from fakes.reconciler_site import config_of
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.highest_indexed import highest_captured
from offset_sync.state.restore import (
    follow_commits,
    restore_commits,
    restore_missed,
)
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS
from offset_sync.tables.store import TableStore
from oracles.commit_lives import replay

BEGINS = datetime(2026, 11, 20, tzinfo=timezone.utc)
Rows = list[dict[str, Any]]


class History:
    """Two clusters whose logs of two partitions grow, are cut and recreated; *ends* is how far they are read."""

    def __init__(self, seed: int) -> None:
        self.random, self.now = random.Random(seed), BEGINS
        self.commits: Rows = []
        self.lives: Rows = []
        self.ends = {(alias, number): 0 for alias in "XY" for number in (0, 1)}

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            self.now += timedelta(seconds=1)
            log = self.random.choice(list(self.ends))
            if self.random.random() < 0.9:
                self._read(*log)
            else:
                self._cut(*log)

    def _read(self, alias: str, number: int) -> None:
        offset = self.random.choice([None, -1, *range(9), *range(9)])
        row = {
            "cluster": alias,
            "group_id": f"g{number}-{self.random.randrange(6)}",
            "topic": "orders",
            "partition": 0,
            "committed_offset": offset,
            "metadata": self.random.choice(["", "m"]),
            "topic_id": self.random.choice([None, "id"]),
            "committed_at": self.now,
            "is_tombstone": offset is None,
            "log_partition": number,
            "log_offset": self.ends[alias, number],
            "captured_at": self.now + timedelta(milliseconds=1),
        }
        row |= {"made_at": self.now, "is_own": self.random.random() < 0.4}
        self.commits.append(row)
        self.ends[alias, number] += 1

    def _cut(self, alias: str, number: int) -> None:
        begins_at = self.random.choice([0, self.random.randint(0, self.ends[alias, number])])
        life = {"cluster": alias, "topic": CONSUMER_OFFSETS, "partition": number, "topic_id": "id"}
        reason = "LOG_TRUNCATED" if begins_at else "TOPIC_RECREATED"
        self.lives.append(life | {"begins_at": begins_at, "reason": reason, "noticed_at": self.now})
        self.ends[alias, number] = begins_at

    def write(self, tables: TableStore) -> None:
        """Append what is new, lives first."""
        tables.append(LOG_INCARNATIONS, pa.Table.from_pylist(self.lives, LOG_INCARNATIONS.arrow_schema))
        tables.append(OFFSET_COMMITS, pa.Table.from_pylist(self.commits, OFFSET_COMMITS.arrow_schema))
        self.lives, self.commits = [], []


def new_state() -> SyncState:
    return SyncState(config_of(["X", "Y"]), MemoryIndex())


def replayed(tables: TableStore) -> SyncState:
    state, lives, rows = new_state(), CommitLogIncarnations(tables), tables.all_rows(OFFSET_COMMITS)
    lives.refresh()
    keys = zip(*(rows.column(name).to_pylist() for name in GroupPartition._fields), strict=True)
    state.offsets.ids([GroupPartition(*key) for key in keys])
    for alias in "XY":
        replay(state, alias, rows.filter(pc.equal(rows.column("cluster"), alias)), lives)
    return state


def wrong(found: SyncState, tables: TableStore) -> list[str]:
    """Return what is known differently; of rewinds the latest is restored, and the last one replayed."""
    states = (known(SimpleNamespace(offsets=each.offsets)) for each in (found, replayed(tables)))  # type: ignore[arg-type]
    without = [{key: each | {"rewound_ms": None} for key, each in state.items()} for state in states]
    return differences(*without)


@pytest.mark.parametrize("seed", [1, 2])
def test_restored_and_followed_offsets_are_the_present_ones(tables: TableStore, seed: int) -> None:
    history = History(seed)
    history.go_on(150)
    history.write(tables)
    followed, lives = new_state(), CommitLogIncarnations(tables)
    assert restore_commits(tables, followed, lives) > 0
    assert wrong(followed, tables) == []
    version = tables.version(OFFSET_COMMITS)
    history.go_on(60)
    assert history.lives
    history.write(tables)
    for _ in range(2):  # what is read twice changes nothing
        assert follow_commits(tables, followed, version, lives) == version + 1
        assert wrong(followed, tables) == []
    fresh = new_state()
    restore_commits(tables, fresh, CommitLogIncarnations(tables))
    assert wrong(fresh, tables) == []
    ends = {ClusterPartition(alias, CONSUMER_OFFSETS, number): end for (alias, number), end in history.ends.items()}
    assert highest_captured(tables, lives) == {log: end for log, end in ends.items() if end}


def test_what_another_driver_took_in_of_a_new_life_is_restored(tables: TableStore) -> None:
    history = History(3)
    history.go_on(100)
    history.write(tables)
    state, lives = new_state(), CommitLogIncarnations(tables)
    restore_commits(tables, state, lives)
    since = {number: history.ends["X", number] for number in (0, 1)}
    while not any(life["cluster"] == "X" for life in history.lives):
        history.go_on(10)
    history.write(tables)
    until = {number: history.ends["X", number] for number in (0, 1)}
    assert len(restore_missed(tables, state, "X", since, until, lives)) == len(state.offsets.keys)
    other = new_state()
    restore_commits(tables, other, CommitLogIncarnations(tables))
    of_x = [
        {key: each for key, each in known(SimpleNamespace(offsets=state.offsets)).items() if key[0] == "X"}  # type: ignore[arg-type]
        for state in (state, other)
    ]
    assert differences(*of_x) == []
