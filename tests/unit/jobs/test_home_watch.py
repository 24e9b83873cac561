"""What is looked at beside the commits: partitions of ``__consumer_offsets``, and keys that are over."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import numpy as np
import pytest

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.jobs import sync_offsets
from offset_sync.jobs.sync_offsets import SyncJob, may_run
from offset_sync.jobs.watches import PartitionWatch
from offset_sync.kafka.requests import TopicInfo
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.cluster_clock import WRONG_MS
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.held_positions import note_members
from offset_sync.state.lease import Claim
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState

HOST = socket.gethostname()


class Admin:
    """Says how many partitions a log of commits has; None is no answer."""

    partitions: int | None = 1

    def describe(self, _topics: list[str]) -> Mapping[str, TopicInfo | ClusterError]:
        if self.partitions is None:
            raise ClusterError("X", "does not answer")
        return {CONSUMER_OFFSETS: TopicInfo(CONSUMER_OFFSETS, self.partitions)}


@pytest.mark.parametrize("is_known", [False, True])
def test_partitions_that_are_added_are_noted_for_order_and_start_the_query_again_once(is_known: bool) -> None:
    """Though the state may have learned it from the tables; a cluster that does not answer keeps what it had."""
    tables, grown, admins = cast(Any, MemoryTables()), list[str](), {alias: Admin() for alias in "XY"}
    state = SyncState(config_of(["X", "Y"]), MemoryIndex())
    watch = PartitionWatch(state, admins, CommitLogIncarnations(tables), lambda: None, grown.append)
    for alias in "XY":
        watch.note_partitions(alias)
    watch.note_growth()
    assert grown == []
    admins["X"].partitions, admins["Y"].partitions = None, 2
    if is_known:
        state.offsets.clusters["Y"].partitions = 2
    for _ in range(2):
        watch.note_growth()
    assert grown == ["Y"]
    assert [state.offsets.clusters[alias].partitions for alias in "XY"] == [1, 2]
    fresh = CommitLogIncarnations(tables)
    fresh.refresh()
    assert [fresh.partitions(alias) for alias in "XY"] == [1, 2], "as the next driver has it"


@pytest.mark.parametrize(
    ("known", "gone", "is_due"),
    [
        (30_000, 20_000, True),
        (20_000, 10_000, False),  # no more than there are
        (9_999, 9_999, False),  # not worth while
        (10_000, 10_000, True),
    ],
)
def test_it_is_over_when_most_keys_are(known: int, gone: int, is_due: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(offsets=SimpleNamespace(keys=range(known)), lock=threading.RLock())
    monkeypatch.setattr(sync_offsets, "is_over", lambda offsets: np.arange(len(offsets.keys)) < gone)
    lease = SimpleNamespace(stop=threading.Event())
    job: Any = SimpleNamespace(_state=state, _lease=lease, _failures=[])
    SyncJob._renew(job)
    assert (lease.stop.is_set(), len(job._failures)) == (is_due, is_due)


@pytest.mark.parametrize("is_read", [False, True])
def test_nothing_is_reconciled_before_the_index_was_read_once(is_read: bool) -> None:
    """Every key would be told to be of a topic that is not indexed."""
    index: Any = RecordIndex(cast(Any, MemoryTables()))
    if is_read:
        index.refresh()
    job: Any = MagicMock(_is_ready=threading.Event(), _state=SyncState(config_of(["X", "Y"]), index))
    SyncJob._note_readiness(job)
    assert job._is_ready.is_set() == is_read


def test_of_a_cluster_that_does_not_answer_no_members_are_known() -> None:
    state = SyncState(config_of(["X", "Y"]), MemoryIndex())
    note_members(state, {"X": {"a": True, "empty": False}, "Y": ClusterError("Y", "no answer")})
    assert [state.homes.with_members(alias) for alias in "XY"] == [{"a"}, set()]


def test_a_clock_that_is_wrong_is_said_with_the_summary(caplog: pytest.LogCaptureFixture) -> None:
    state = SyncState(config_of(["X", "Y"]), RecordIndex(cast(Any, MemoryTables())))
    state.offsets.clusters["X"].clock.keep(WRONG_MS)
    state.offsets.clusters["Y"].clock.keep(-7_000)
    SyncJob._summarize(cast(Any, MagicMock(_state=state)))
    assert caplog.messages == ["clusters.Y: its clock is wrong by 7 s: correct it"]


def test_a_dry_run_takes_a_driver_for_dead_only_where_its_process_is_gone_here() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for host, pid, is_alive in ((HOST, os.getpid(), True), (HOST, gone.pid, False), ("elsewhere", gone.pid, True)):
        assert may_run(Claim("sync_offsets", None, 1, "id", host, pid, datetime.now(timezone.utc))) == is_alive
