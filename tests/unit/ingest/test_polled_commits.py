"""Commits polled from coordinators: when each may have been made, and polls that are repeated or overtaken.

Worlds with polls of the simulation hold the rest.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fakes.clusters import MemoryIndex
from fakes.ingest import NO_ROWS
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.ingest.polled_commits import CommitPoller, PollIngester
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.kafka.requests import Committed, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, GroupPartition, TopicPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.key_index import KeyRows
from offset_sync.state.restore import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS

ORDERS = TopicPartition("orders", 0)
PLAIN = config_of(["X", "Y"])
POLLED_X = {**PLAIN.clusters, "X": PLAIN.clusters["X"].model_copy(update={"commits": "admin"})}
CONFIG = PLAIN.model_copy(update={"clusters": POLLED_X})


class Broker:
    """Coordinators of X, in memory; *refused* groups do not answer."""

    alias, is_listing = "X", True

    def __init__(self) -> None:
        self.offsets = defaultdict[str, dict[TopicPartition, Committed]](dict)
        self.refused = set[str]()

    def commit(self, offset: int, group_id: str = "g") -> None:
        self.offsets[group_id][ORDERS] = Committed(offset, "meta", 7)

    def groups(self, deadline: float) -> Collection[str]:
        if not self.is_listing:
            raise ClusterError("X", "a broker does not list its groups")
        return [*self.offsets]

    groups_of_all_types = groups

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Mapping[str, Any]:
        loading = TransientError("X", "COORDINATOR_LOAD_IN_PROGRESS")
        return {group: loading if group in self.refused else {**self.offsets.get(group, {})} for group in groups}


class Job:
    """Polls X once per micro-batch; the one *after* another has the same tables and the same broker."""

    def __init__(self, after: Job | None = None) -> None:
        self.broker, self.now_ms = (after.broker, after.now_ms) if after else (Broker(), 1_000_000)
        self.tables: Any = after.tables if after else MemoryTables()
        self.state = SyncState(CONFIG, MemoryIndex(), lambda: self.now_ms)
        lives = CommitLogIncarnations(self.tables, CONFIG.polled())
        restore_commits(self.tables, self.state, lives)
        self.included: Collection[str] | None = None
        admin: Any = self.broker
        poller = CommitPoller(admin, self.state, self.is_included, threading.Lock(), lambda: 0.0)
        checkpoint: Any = self
        ingester = PollIngester("X", self.tables, checkpoint, poller, self.state, lives)
        is_ready = threading.Event()
        is_ready.set()
        self.batch = SyncBatch(ingester, self.state, self, SyncMetrics(CONFIG), is_ready)

    def is_included(self, group_id: str) -> bool:
        return self.included is None or group_id in self.included

    def query_id(self) -> str:
        return "query"

    def reconcile_batch(self, source: str, rows: KeyRows, batch_id: int) -> list[str]:
        return []

    def poll(self, batch_id: int) -> None:
        self.now_ms += 5_000
        self.batch(NO_ROWS, batch_id)

    def known(self, name: str, group_id: str = "g") -> int:
        (row,) = self.state.offsets.ids([GroupPartition(group_id, *ORDERS)]).tolist()
        return int(self.state.offsets.clusters["X"].columns[name][row])

    def since_ms(self, group_id: str = "g") -> int:
        return self.known("genuine_at_ms", group_id)


def test_a_repeated_micro_batch_of_the_next_driver_polls_again_and_loses_nothing() -> None:
    job = Job()
    job.broker.commit(100)
    job.poll(0)  # and dies before Spark notes it
    job.broker.commit(200)
    job.broker.commit(5, "h")
    after = Job(job)
    after.poll(0)
    rows = after.tables.rows(OFFSET_COMMITS, "group_id", "committed_offset", "captured_by", "leader_epoch")
    assert rows == [("g", 100, "admin", 7), ("g", 200, "admin", 7), ("h", 5, "admin", 7)]
    assert after.since_ms() == 1_005_000  # the last poll that is recorded
    assert after.known("genuine_made_ms") == 1_010_000


def test_a_group_that_did_not_answer_may_have_committed_ever_since_it_did() -> None:
    job = Job()
    job.broker.commit(10)
    job.poll(0)  # asked at 1,005 s
    job.broker.refused.add("g")
    job.broker.commit(80)
    for number in range(1, 100):
        job.poll(number)
    job.broker.refused.clear()
    job.poll(100)
    assert (job.known("genuine_offset"), job.since_ms()) == (80, 1_005_000)


def test_a_group_that_was_not_asked_before_may_have_committed_at_any_time() -> None:
    job = Job()
    job.broker.commit(10)
    job.broker.commit(80, "late")
    job.included = {"g", "unlisted"}
    job.poll(0)
    job.broker.is_listing = False  # those that are known are polled without a list
    job.broker.commit(80, "unlisted")
    job.broker.commit(20)
    job.poll(1)
    assert (job.known("genuine_offset"), job.since_ms()) == (20, 1_005_000)
    job.broker.is_listing = True
    job.poll(2)
    assert job.since_ms("unlisted") == ABSENT
    job.broker.commit(90, "unlisted")
    job.poll(3)
    assert job.since_ms("unlisted") == 1_015_000
    after = Job(job)
    after.poll(4)
    assert after.since_ms("late") == ABSENT, "it was excluded until now"
