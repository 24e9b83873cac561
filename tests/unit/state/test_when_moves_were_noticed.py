"""Moves by ``cutover`` are noticed by our clock, but for those that were there before."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import STARTED_MS, config_of
from fakes.tables import MemoryTables
from offset_sync.model.values import GroupPartition
from offset_sync.state.moves import HOME, Moves
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.report_tables import CUTOVERS

ROWS = np.array([0])


def committed_at_x(committed_ms: int) -> SyncState:
    index: Any = MemoryIndex()
    state = SyncState(config_of(["X", "Y"]), index, lambda: STARTED_MS)
    state.offsets.ids([GroupPartition("g", "orders", 0)])
    state.homes.note_commits("X", ROWS, np.array([committed_ms]))
    return state


def moved_to_y(tables: MemoryTables, at_ms: int) -> None:
    at = datetime.fromtimestamp(at_ms / 1000, timezone.utc)
    row = dict.fromkeys(CUTOVERS.names) | {"at": at, "step": HOME, "result": "done", "group_id": "g"}
    row |= {"stream": "orders", "target_cluster": "Y"}
    tables.append(CUTOVERS, pa.Table.from_pylist([row], CUTOVERS.arrow_schema))


def home_of(state: SyncState) -> int:
    return int(state.homes_of(ROWS).home[0])


def test_a_move_that_was_there_at_the_start_has_the_time_of_who_moved_the_group() -> None:
    tables: Any = MemoryTables()
    state = committed_at_x(STARTED_MS - 1_000)
    moved_to_y(tables, STARTED_MS - 60_000)
    assert Moves(tables).follow(state)
    assert home_of(state) == 0


def test_the_first_move_of_all_counts_from_when_it_was_noticed() -> None:
    tables: Any = MemoryTables()
    state, moves = committed_at_x(STARTED_MS - 1_000), Moves(tables)
    assert not moves.follow(state)
    moved_to_y(tables, STARTED_MS - 60_000)
    assert moves.follow(state)
    assert home_of(state) == 1
