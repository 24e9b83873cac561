"""How far index_records has read, and what is waited for: not for ever, not twice in vain, not where none runs."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.kafka.requests import Clock
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.lease import Claim, ended, to_rows
from offset_sync.state.sync_state import SyncState
from offset_sync.status import index_progress
from offset_sync.status.index_progress import IndexCatchUp, IndexCheckpoints
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.files import Files

AT = datetime(2026, 3, 1, tzinfo=timezone.utc)
HERE = Claim("index_records", None, 1, "a", socket.gethostname(), 7, AT)
ELSEWHERE = Claim("index_records", None, 2, "b", "another machine", 7, AT)


@pytest.mark.parametrize(
    ("claims", "is_alive", "is_running"),
    [
        ([], True, False),
        ([HERE], True, True),
        ([HERE, *ended([HERE], AT)], True, False),
        ([HERE, *ended([HERE], AT), ELSEWHERE], True, True),
        ([HERE], False, False),  # its process is gone, and it has not said that it ended
        ([ELSEWHERE], False, True),
    ],
)
def test_a_driver_runs_until_it_says_that_it_has_ended(
    monkeypatch: pytest.MonkeyPatch, claims: list[Claim], is_alive: bool, is_running: bool
) -> None:
    tables: Any = MemoryTables()
    monkeypatch.setattr(index_progress, "process_exists", lambda _pid: is_alive)
    for claim in claims:
        tables.append(DRIVERS, to_rows([claim]))
    assert index_progress.is_running(tables, "index_records") == is_running
    assert not index_progress.is_running(tables, "sync_offsets")


ORDERS = TopicPartition("orders", 0)


@pytest.mark.parametrize(("is_indexing", "left"), [(True, [12]), (False, [6, 8, 10, 12])])
def test_the_index_is_looked_at_until_it_has_reached_the_ends(is_indexing: bool, left: list[int]) -> None:
    index, steps, slept = MemoryIndex(), [6, 8, 10, 12], list[float]()
    index.extend(log("X", "X0:4"), ORDERS)
    index.refresh = lambda: index.extend(log("X", f"X0:{steps.pop(0)}"), ORDERS)  # type: ignore[method-assign]
    state, clock = SyncState(config_of(["X", "Y"]), index), Clock(lambda: sum(slept), slept.append)
    catch_up = IndexCatchUp(state, 5.0, clock, lambda: is_indexing)
    catch_up.wait({"X": ClusterMetadata({}, {ORDERS: MemoryEnds(0, 10)})})
    assert (len(slept), steps) == (4 - len(left), left)


def test_a_stopped_index_is_waited_for_once() -> None:
    index, slept, waited = MemoryIndex(), list[float](), list[bool]()
    index.refresh = lambda: None  # type: ignore[method-assign]
    state, clock = SyncState(config_of(["X", "Y"]), index), Clock(lambda: sum(slept), slept.append)
    catch_up = IndexCatchUp(state, 1.0, clock)
    for records in (4, 4, 5, 5):
        index.extend(log("X", f"X0:{records}"), ORDERS)
        before = sum(slept)
        catch_up.wait({"X": ClusterMetadata({}, {ORDERS: MemoryEnds(0, 10)})})
        waited.append(sum(slept) - before >= 1.0)
    assert waited == [True, False, True, False]


def test_an_index_is_silent_since_the_last_sign_of_its_queries(tmp_path: Path) -> None:
    config = config_of(["X", "Y"], tables={"root": f"{tmp_path}/tables", "checkpoints": str(tmp_path)})
    for name in ("offsets", "commits"):
        path = tmp_path / "index_records" / "X" / name / "0"
        path.parent.mkdir(parents=True)
        path.write_text("v1\n{}")
        os.utime(path, (5.0, 5.0))
    assert IndexCheckpoints(Files(), config).read(7_000) == ({"X": 2_000, "Y": 0}, {})
