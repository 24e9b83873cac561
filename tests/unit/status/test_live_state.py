"""Reports from kept tables where no cluster answers: decided here, or by what the last driver has published."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from builders.kept_installation import kept_installation
from offset_sync.config import Config
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.state.heartbeat import JOB, beat
from offset_sync.state.lease import Lease
from offset_sync.status.live_state import LiveState
from offset_sync.tables.store import TableStore


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return kept_installation(tmp_path)


def keys_of(rows: Any) -> set[tuple[object, ...]]:
    names = ("source_cluster", "target_cluster", "group_id", "topic", "partition")
    return {tuple(row[name] for name in names) for row in rows}


def test_both_ways_report_the_same_groups_and_only_without_a_driver_a_state_is_opened(config: Config) -> None:
    tables, now_ms = TableStore.of(config, config.names), system_now_ms()
    live = LiveState(config, tables, ["dc1", "dc2"])
    rows = live.published(now_ms)
    assert live.is_decided_here
    assert len(live.silent) == len(config.clusters)
    assert rows
    assert {row["status"] for row in rows} == {"Withheld"}
    lease = Lease(tables, JOB, threading.Event())
    lease.claim()
    beat(tables.files, config, lease.epoch, now_ms)
    fresh = LiveState(config, tables, ["dc1", "dc2"])
    published = fresh.published(now_ms)
    assert not fresh.is_decided_here
    assert "state" not in vars(fresh)
    # That driver was of the time before GONE: it has left the rows of former homes.
    assert keys_of(rows) < keys_of(published)
    live.published(now_ms)
    assert not live.silent, "it has asked for no members"
    lease.end()
    assert len(fresh.published(now_ms)) == len(rows)
    assert fresh.is_decided_here
