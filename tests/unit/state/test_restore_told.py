"""What a start, a follower and an overtaken driver know by rows of the tables, each case told in a line.

Of what a driver before has written and not read back: ours, where the log brings it to the next one. Of partitions
added to ``__consumer_offsets``: with one partition a group commits 300 four times, then there are two and it commits
10 in the other one, where log offsets begin again.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import follow_commits, restore_answers, restore_commits, restore_missed
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import TopicPartitions
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table

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


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["in order", "backwards"])
def test_a_start_knows_the_commit_in_the_partition_of_now(order: slice) -> None:
    history = GrownLog()
    history.grow()
    for each in [*OLD, (1, 0, 10)][order]:
        history.capture(*each)
    assert held(history.started()[0])[:2] == AS_IT_IS[:2]


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


def test_an_overtaken_driver_takes_in_what_another_one_has_read_of_the_new_partition() -> None:
    history = told_old()
    state, lives = history.started()
    history.grow()
    history.capture(1, 0, 10)
    restore_missed(history.tables, state, "X", {0: 4}, {0: 4, 1: 1}, lives)
    assert held(state) == AS_IT_IS
