"""What is restored of a log of commits that has begun another life: nothing that is gone, and nothing only believed."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from builders.commits import acknowledge
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import follow_commits, restore_commits, restore_missed
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS

BEGAN = datetime(2026, 11, 20, tzinfo=timezone.utc)


class History:
    """The tables, and what a driver knows that has restored them once; X's log has one partition."""

    def __init__(self) -> None:
        self.now = BEGAN
        self.tables: Any = MemoryTables()
        self.state, self.lives = SyncState(config_of(["X", "Y"]), MemoryIndex()), CommitLogIncarnations(self.tables)

    def capture(self, log_offset: int, committed: int, group: str = "g") -> None:
        """Write down a commit."""
        self.now += timedelta(minutes=1)
        row = {
            "cluster": "X",
            "group_id": group,
            "topic": "orders",
            "partition": 0,
            "committed_offset": committed,
            "metadata": "",
            "committed_at": self.now,
            "is_tombstone": False,
            "is_own": False,
            "log_partition": 0,
            "log_offset": log_offset,
            "captured_at": self.now,
            "made_at": self.now,
        }
        self.tables.append(OFFSET_COMMITS, pa.Table.from_pylist([row], OFFSET_COMMITS.arrow_schema))

    def cut(self, begins_at: int) -> None:
        """Write down that the log has other records from there on."""
        self.now += timedelta(minutes=1)
        life = {"cluster": "X", "topic": CONSUMER_OFFSETS, "partition": 0, "topic_id": "id", "leader_epoch": 1}
        life |= {"begins_at": begins_at, "reason": "LOG_TRUNCATED", "noticed_at": self.now}
        self.tables.append(LOG_INCARNATIONS, pa.Table.from_pylist([life], LOG_INCARNATIONS.arrow_schema))

    def restore(self) -> None:
        """Read all of the tables."""
        restore_commits(self.tables, self.state, self.lives)

    def stands(self, group: str = "g") -> int:
        """Return the offset believed to be at X; -1 for none."""
        (row,) = self.state.offsets.ids([GroupPartition(group, "orders", 0)]).tolist()
        return int(self.state.offsets.clusters["X"].columns["actual_offset"][row])


def test_what_we_have_written_and_never_read_back_is_gone_with_a_log_that_was_cut() -> None:
    history = History()
    history.capture(0, 5)
    history.restore()
    acknowledge(history.state.offsets, 9, group="ours")
    assert history.stands("ours") == 9
    history.cut(1)
    history.restore()
    assert (history.stands("ours"), history.stands()) == (-1, 5), "it has to be written again"


def test_commits_that_are_gone_are_not_taken_in_as_what_another_driver_has_read() -> None:
    history = History()
    history.capture(0, 5)
    history.restore()
    history.capture(1, 9, "other")
    history.capture(2, 8)
    history.cut(1)
    history.lives.refresh()
    history.lives.take("X")  # as a driver that has noticed it by itself
    restore_missed(history.tables, history.state, "X", {0: 1}, {0: 3}, history.lives)
    assert (history.stands(), history.stands("other")) == (5, -1)


def test_what_another_driver_has_read_of_a_log_that_was_cut_since_is_restored_as_a_whole() -> None:
    history = History()
    history.capture(0, 5)
    history.capture(1, 9)
    history.restore()
    history.cut(1)
    history.capture(1, 6, "other")
    restore_missed(history.tables, history.state, "X", {0: 2}, {0: 2}, history.lives)
    assert (history.stands(), history.stands("other")) == (5, 6), "what was read before the cut is gone as well"


def test_a_reader_that_only_follows_the_table_does_not_take_in_lost_commits() -> None:
    history = History()
    history.capture(0, 5)
    history.restore()
    version = history.tables.version(OFFSET_COMMITS)
    history.capture(1, 9, "other")
    history.cut(1)
    history.lives.refresh()
    history.lives.take("X")
    follow_commits(history.tables, history.state, version, history.lives)
    assert (history.stands(), history.stands("other")) == (5, -1)
