"""What only a coordinator holds, and we wrote: its record was lost before any driver had read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.ingest.polled_commits import NewCommit, PollIngester
from offset_sync.jobs.watches import CoordinatorWatch
from offset_sync.kafka.requests import Committed
from offset_sync.model.values import ABSENT, POLLED, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS

KEY = GroupPartition("g", "orders", 0)
OURS = 55


class Coordinator:
    """Brings *held* once, as what the log of Y does not have."""

    is_whole = True

    def __init__(self, *held: int) -> None:
        self._held = held

    def poll(self) -> Sequence[NewCommit]:
        held, self._held = self._held, ()
        return [NewCommit(KEY, Committed(each, "", None), ABSENT, POLLED - 1, 9) for each in held]

    def query_id(self) -> str:
        """As a checkpoint says it."""
        return "query"


class Start:
    """A driver whose predecessor wrote OURS to Y; the log of Y, read to its end, has no record of it."""

    def __init__(self, held: int) -> None:
        tables: Any = MemoryTables()
        index: Any = MemoryIndex()
        self.tables = tables
        self.state = SyncState(config_of(["X", "Y"]), index, lambda: 1_000_000)
        self.row = self.state.offsets.ids([KEY])
        self.cluster = self.state.offsets.clusters["Y"]
        self.cluster.own_writes.inherit(int(self.row[0]), [OURS])
        self.state.unread.begin(["Y"])
        self.state.note_read(["Y"])
        coordinator: Any = Coordinator(held)
        lives = CommitLogIncarnations(tables, frozenset())
        check = PollIngester("Y", tables, coordinator, coordinator, self.state, lives)
        self.watch = CoordinatorWatch(self.state, {"Y": check}, lambda: None)
        assert self.watch.compare() == []

    @property
    def author(self) -> tuple[int, bool]:
        """What Y holds, and whether we wrote it."""
        columns, (row,) = self.cluster.columns, self.row.tolist()
        return int(columns["actual_offset"][row]), bool(columns["actual_is_own"][row])


@pytest.mark.parametrize(("held", "is_own"), [(OURS, True), (OURS - 1, False)])
def test_what_only_a_coordinator_holds_is_ours_if_the_former_driver_wrote_it(held: int, is_own: bool) -> None:
    start = Start(held)
    assert start.author == (held, is_own)
    assert start.tables.all_rows(OFFSET_COMMITS)["is_own"].to_pylist() == [is_own]
