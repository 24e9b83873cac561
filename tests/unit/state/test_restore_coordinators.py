"""Partitions added to ``__consumer_offsets``: what a start, a follower and an overtaken driver know of a group then.

The smallest input: with one partition a group commits 300 four times, then there are two and it commits 10 in the
other one, where log offsets begin again.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition
from offset_sync.state import last_known
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_known import LastKnown
from offset_sync.state.restore import follow_commits, restore_commits, restore_missed
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import TopicPartitions
from offset_sync.tables.catalog import OFFSET_COMMITS, TABLES
from offset_sync.tables.store import TableStore

BEGAN = datetime(2026, 11, 20, tzinfo=timezone.utc)
GROUP = "g"
"""Of one partition its coordinator leads 0, of two 1."""


class History:
    """The tables of a driver that writes down the commits of X, in partitions of its log."""

    def __init__(self, tables: Any = None, config: Any = None) -> None:
        self.tables: Any = MemoryTables() if tables is None else tables
        self.config = config or config_of(["X", "Y"])
        self.topics, self.now = TopicPartitions(self.tables), BEGAN
        self.topics.note("X", {CONSUMER_OFFSETS: ("id", 1)})

    def capture(self, *commits: tuple[int, int, int]) -> None:
        """Write down commits of the group: partition and offset in the log, and what it commits."""
        rows = []
        for log_partition, log_offset, offset in commits:
            self.now += timedelta(minutes=1)
            row = {"cluster": "X", "group_id": GROUP, "topic": "orders", "partition": 0, "committed_offset": offset}
            row |= {"committed_at": self.now, "captured_at": self.now, "made_at": self.now, "is_tombstone": False}
            rows.append(row | {"is_own": False, "log_partition": log_partition, "log_offset": log_offset})
        self.tables.append(OFFSET_COMMITS, pa.Table.from_pylist(rows, OFFSET_COMMITS.arrow_schema))

    def grow(self) -> None:
        """Have two partitions, and say so before anything is written down of the second one."""
        self.topics.note("X", {CONSUMER_OFFSETS: ("id", 2)})

    def started(self) -> tuple[SyncState, CommitLogIncarnations]:
        state, lives = SyncState(self.config, MemoryIndex()), CommitLogIncarnations(self.tables)
        restore_commits(self.tables, state, lives)
        return state, lives

    def version(self) -> int:
        return int(self.tables.version(OFFSET_COMMITS))


def held(state: SyncState) -> tuple[int, int, bool]:
    """Return what X holds, what the group itself has committed last, and whether it went back."""
    (row,) = state.offsets.ids([GroupPartition(GROUP, "orders", 0)]).tolist()
    columns = state.offsets.clusters["X"].columns
    names = ("actual_offset", "genuine_offset", "rewound_ms")
    actual, genuine, rewound_ms = (int(columns[name][row]) for name in names)
    return actual, genuine, rewound_ms >= 0


AS_IT_WAS, AS_IT_IS = (300, 300, False), (10, 10, True)
OLD = [(0, number, 300) for number in range(4)]


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["in order", "backwards"])
def test_a_start_knows_the_commit_in_the_partition_of_now(order: slice) -> None:
    history = History()
    history.grow()
    for each in [*OLD, (1, 0, 10)][order]:
        history.capture(each)
    assert held(history.started()[0])[:2] == AS_IT_IS[:2]


def test_a_start_before_the_group_has_committed_again_knows_what_it_said_last() -> None:
    history = History()
    history.capture(*OLD)
    history.grow()
    assert held(history.started()[0]) == AS_IT_WAS


@pytest.mark.parametrize("is_at_once", [False, True])
def test_who_follows_the_tables_takes_the_commit_in_the_new_partition_for_the_newer_one(is_at_once: bool) -> None:
    history = History()
    history.capture(*OLD)
    state, lives = history.started()
    version = history.version()
    assert held(state) == AS_IT_WAS
    history.grow()
    if not is_at_once:
        version = follow_commits(history.tables, state, version, lives)
    history.capture((1, 0, 10))
    version = follow_commits(history.tables, state, version, lives)
    assert held(state) == AS_IT_IS
    history.capture((1, 1, 20))
    follow_commits(history.tables, state, version, lives)
    assert held(state) == (20, 20, True)


def test_an_overtaken_driver_takes_in_what_another_one_has_read_of_the_new_partition() -> None:
    history = History()
    history.capture(*OLD)
    state, lives = history.started()
    history.grow()
    history.capture((1, 0, 10))
    restore_missed(history.tables, state, "X", {0: 4}, {0: 4, 1: 1}, lives)
    assert held(state) == AS_IT_IS


def test_a_commit_of_before_that_comes_late_from_quarantine_is_older_than_all_in_the_new_partition() -> None:
    history = History()
    history.capture(*OLD[:2])
    history.grow()
    history.capture((1, 0, 10))
    state, lives = history.started()
    version = history.version()
    history.capture((0, 2, 400))
    follow_commits(history.tables, state, version, lives)
    assert held(state)[:2] == (10, 10)


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setattr(last_known, "MANY_VERSIONS", 1)
    config = config_of(["X", "Y"], tables={"root": f"{tmp_path}/t", "checkpoints": f"{tmp_path}/c"})
    tables = TableStore(config.tables.root, names=config.names)
    tables.create(TABLES)
    return History(tables, config)


def from_folds(history: History) -> SyncState:
    state = SyncState(history.config, MemoryIndex())
    LastKnown(history.tables, history.config, replaces=True).restore(state, CommitLogIncarnations(history.tables))
    return state


@pytest.mark.parametrize("folded_at", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_start_from_folds_knows_it_wherever_partitions_were_added(
    on_disk: History, folded_at: tuple[int, ...]
) -> None:
    steps = [lambda: on_disk.capture(*OLD), on_disk.grow, lambda: on_disk.capture((1, 0, 10))]
    for number, step in enumerate(steps):
        step()
        if number in folded_at:
            from_folds(on_disk)
    assert held(from_folds(on_disk)) == AS_IT_IS
    on_disk.capture((1, 1, 20))
    assert held(from_folds(on_disk)) == (20, 20, True)
