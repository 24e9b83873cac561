"""Polls that are repeated; worlds with polls of the simulation hold when a commit may have been made."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.ingest.polled_commits import CommitPoller, PollIngester
from offset_sync.kafka.requests import Committed
from offset_sync.model.values import TopicPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS


def poll(tables: Any, now_ms: int, **offsets: int) -> None:
    """Take in micro-batch 0 of a new driver, where the groups have committed these *offsets* of orders-0."""
    state = SyncState(config_of(["X", "Y"]), MemoryIndex(), lambda: now_ms)
    lives = CommitLogIncarnations(tables, {"X"})
    restore_commits(tables, state, lives)
    held = {group: {TopicPartition("orders", 0): Committed(offset, "meta", 7)} for group, offset in offsets.items()}
    coordinators: Any = SimpleNamespace(
        alias="X",
        groups=lambda _deadline: [*held],
        groups_of_all_types=lambda _deadline: [*held],
        committed_offsets=lambda groups, _deadline: {group: held.get(group, {}) for group in groups},
    )
    checkpoint: Any = SimpleNamespace(query_id=lambda: "query")
    poller = CommitPoller(coordinators, state, lambda _group: True, threading.Lock(), lambda: 0.0)
    ingester = PollIngester("X", tables, checkpoint, poller, state, lives)
    batch = ingester.decode(None, 0)
    batch = batch.with_made(batch.timestamp_ms)
    ingester.write(batch, state.record("X", batch.keys, batch.commit_records).is_own)


def test_a_repeated_micro_batch_of_the_next_driver_polls_again_and_loses_nothing() -> None:
    tables = MemoryTables()
    poll(tables, 1_005_000, g=100)  # and dies before Spark notes it
    poll(tables, 1_010_000, g=200, h=5)
    rows = tables.rows(OFFSET_COMMITS, "group_id", "committed_offset", "captured_by", "leader_epoch", "log_offset")
    found = [("g", 100, 1_005_000), ("g", 200, 1_010_000), ("h", 5, 1_010_000)]
    assert rows == [(group, offset, "admin", 7, at_ms) for group, offset, at_ms in found]
