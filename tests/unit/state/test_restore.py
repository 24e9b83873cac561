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
from fakes.tables import MemoryTables
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.highest_indexed import highest_captured
from offset_sync.state.restore import (
    follow_commits,
    restore_commits,
    restore_missed,
)
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import TopicPartitions
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


KEY = GroupPartition("g", "orders", 0)
"""Of one partition of the log its group's coordinator leads 0, of two 1."""


class GrownLog:
    """Tables of a driver that has read X's log while that got another partition."""

    def __init__(self) -> None:
        self.tables: Any = MemoryTables()
        self.now = BEGINS
        self.topics = TopicPartitions(self.tables)
        self.topics.note("X", {CONSUMER_OFFSETS: ("id", 1)})

    def capture(self, log_partition: int, log_offset: int, offset: int) -> None:
        """Write down a commit: where it is in the log, and what it commits."""
        self.now += timedelta(milliseconds=500)
        row = {**KEY._asdict(), "cluster": "X", "committed_offset": offset, "is_own": False, "is_tombstone": False}
        row |= {"log_partition": log_partition, "log_offset": log_offset, "committed_at": self.now}
        row |= {"captured_at": self.now, "made_at": self.now}
        self.tables.append(OFFSET_COMMITS, pa.Table.from_pylist([row], OFFSET_COMMITS.arrow_schema))

    def grow(self) -> None:
        """Have two partitions, and say so before anything is written down of the second one."""
        self.topics.note("X", {CONSUMER_OFFSETS: ("id", 2)})

    def started(self) -> tuple[SyncState, CommitLogIncarnations]:
        state, lives = new_state(), CommitLogIncarnations(self.tables)
        restore_commits(self.tables, state, lives)
        return state, lives

    def version(self) -> int:
        return int(self.tables.version(OFFSET_COMMITS))


def held(state: SyncState) -> tuple[int, int, bool]:
    """Return what X holds, what the group itself has committed last, and whether it went back."""
    (row,) = state.offsets.ids([KEY]).tolist()
    columns = state.offsets.clusters["X"].columns
    actual, genuine, rewound_ms = (int(columns[n][row]) for n in ("actual_offset", "genuine_offset", "rewound_ms"))
    return actual, genuine, rewound_ms >= 0


# A log of commits that has got another partition
AS_IT_WAS, AS_IT_IS = (300, 300, False), (10, 10, True)
OLD = [(0, number, 300) for number in range(4)]


def told_old() -> GrownLog:
    history = GrownLog()
    for each in OLD:
        history.capture(*each)
    return history


@pytest.mark.parametrize("is_at_once", [False, True])
def test_who_follows_the_tables_takes_the_commit_in_the_new_partition_for_the_newer_one(is_at_once: bool) -> None:
    history = told_old()
    state, lives = history.started()
    version = history.version()
    history.grow()
    assert held(state) == held(history.started()[0]) == AS_IT_WAS
    if not is_at_once:
        version = follow_commits(history.tables, state, version, lives)
    history.capture(1, 0, 10)
    version = follow_commits(history.tables, state, version, lives)
    assert held(state) == AS_IT_IS
    history.capture(0, 4, 400)  # late, from quarantine
    history.capture(1, 1, 20)
    follow_commits(history.tables, state, version, lives)
    assert held(state) == (20, 20, True)
