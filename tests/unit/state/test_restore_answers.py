"""What a driver before has written and not read back: ours, where the log brings it to the next one."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from builders.commits import commit, take_in
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.model.values import GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import recent_writes, restore_answers, restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS

BEGAN = datetime(2026, 11, 20, tzinfo=timezone.utc)
KEY = GroupPartition("g", "orders", 0)


class Before:
    """The tables of a driver that writes at Y what the group commits at X, a second after each other."""

    def __init__(self) -> None:
        self.tables: Any = MemoryTables()
        self.now, self.log_offset, self.behind = BEGAN, -1, timedelta(0)

    def write(self, *offsets: int, outcome: str = "COMMITTED", target: str = "Y") -> None:
        """Have written offsets at Y."""
        for offset in offsets:
            self.now += timedelta(seconds=1)
            row: dict[str, Any] = {"source_cluster": "X", "target_cluster": target, "group_id": "g", "topic": "orders"}
            row |= {"partition": 0, "source_offset": offset, "source_committed_at": self.now, "state": "EXACT"}
            row |= {"target_offset": offset, "outcome": outcome, "duplicates": 0, "duplicates_at_most": 0, "lost": 0}
            row |= {"translated_at": self.now}
            added = pa.Table.from_pylist([row], OFFSET_TRANSLATIONS.arrow_schema)
            self.tables.append(OFFSET_TRANSLATIONS, added)

    def read(self, *commits: tuple[int, bool]) -> None:
        """Have captured commits of Y's log: the offset, and whether it is ours."""
        for offset, is_own in commits:
            self.now, self.log_offset = self.now + timedelta(milliseconds=500), self.log_offset + 1
            row: dict[str, Any] = {"cluster": "Y", "group_id": "g", "topic": "orders", "partition": 0}
            row |= {"committed_offset": offset, "is_own": is_own, "is_tombstone": False, "committed_at": self.now}
            row |= {"log_partition": 0, "log_offset": self.log_offset, "captured_at": self.now}
            row |= {"made_at": self.now - self.behind}
            self.tables.append(OFFSET_COMMITS, pa.Table.from_pylist([row], OFFSET_COMMITS.arrow_schema))

    def claims(self, *offsets: int) -> list[bool]:
        """Start, and read what the log of Y brings then; return which of it is ours."""
        state, lives = SyncState(config_of(["X", "Y"]), MemoryIndex()), CommitLogIncarnations(self.tables)
        restore_commits(self.tables, state, lives)
        restore_answers(self.tables, state)
        self.state = state
        return take_in(state.offsets, *map(commit, offsets), first=self.log_offset + 1, alias="Y")

    def holds(self) -> tuple[int, bool]:
        """Return what Y is believed to hold, and whether it is ours."""
        (row,) = self.state.offsets.ids([KEY]).tolist()
        columns = self.state.offsets.clusters["Y"].columns
        return int(columns["actual_offset"][row]), bool(columns["actual_is_own"][row])


@pytest.fixture
def before() -> Before:
    return Before()


def test_of_two_writes_of_which_one_was_read_back_the_other_is_ours_once(before: Before) -> None:
    before.write(100)
    before.read((100, True))
    before.write(120)
    assert before.claims(120, 120, 100) == [True, False, False]


def test_both_are_ours_where_none_was_read_back(before: Before) -> None:
    before.write(100, 120)
    assert before.claims(100, 120, 120) == [True, True, False]


def test_none_is_where_both_were(before: Before) -> None:
    before.write(100, 120)
    before.read((100, True), (120, True))
    assert before.claims(120, 100) == [False, False]


def test_a_write_before_the_groups_own_commit_is_none_that_may_still_come(before: Before) -> None:
    before.write(100)
    before.read((100, True), (150, False))
    assert before.claims(100) == [False]


def test_a_write_after_the_groups_own_commit_is(before: Before) -> None:
    before.write(100)
    before.read((100, True), (90, False))
    before.write(120)
    assert before.claims(120, 120) == [True, False]


def test_what_was_read_back_ends_equal_writes_before_it_and_no_later_one(before: Before) -> None:
    before.write(100, 120)
    before.read((100, True), (120, True))
    before.write(100)
    assert before.claims(100, 100) == [True, False]


@pytest.mark.parametrize("outcome", ["DRY_RUN", "FAILED", "NOT_FORWARD", "UNCHANGED", "WITHHELD"])
def test_what_was_not_written_is_not_ours(before: Before, outcome: str) -> None:
    before.write(100, outcome=outcome)
    assert before.claims(100) == [False]


def test_what_was_written_at_another_cluster_is_not_ours_here(before: Before) -> None:
    before.write(100)
    before.write(120, target="X")
    assert before.claims(120, 100) == [False, True]


def test_what_was_written_where_no_log_is_read_is_believed(before: Before) -> None:
    before.write(100, 120)
    assert before.claims() == []
    assert before.holds() == (120, True)


def test_what_was_read_is_believed_and_not_what_was_written_since(before: Before) -> None:
    """The next pass asks the cluster: then it is found either way."""
    before.write(100)
    before.read((100, True))
    before.write(120)
    before.claims()
    assert before.holds() == (100, True)


def test_writes_of_long_before_the_last_one_have_been_read_back_or_compacted_away(before: Before) -> None:
    before.write(100)
    before.now += timedelta(hours=2)
    before.write(120)
    rows = recent_writes(before.tables.batches(OFFSET_TRANSLATIONS))
    assert rows.column("target_offset").to_pylist() == [120]
    assert before.claims(100, 120) == [False, True]


def test_a_start_without_a_history_has_no_writes() -> None:
    state = SyncState(config_of(["X", "Y"]), MemoryIndex())
    tables: Any = MemoryTables()
    restore_answers(tables, state)
    assert recent_writes([]).num_rows == 0
    assert not state.offsets.clusters["Y"].own_writes.is_pending(np.array([0]), np.array([100])).any()


def test_a_refresh_that_was_not_read_back_is_ours_and_the_same_value_after_it_the_groups_own(before: Before) -> None:
    before.write(60)
    before.read((60, True))
    before.write(60)
    assert before.claims(60, 60) == [True, False]


def test_a_refresh_that_was_read_back_is_none_that_may_still_come_though_the_brokers_clock_is_behind(
    before: Before,
) -> None:
    before.write(60)
    before.behind = timedelta(hours=1)
    before.read((60, True))
    assert before.claims(60) == [False]
