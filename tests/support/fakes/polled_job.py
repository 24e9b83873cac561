"""Coordinators in memory, and a job that polls them once per micro-batch."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakes.clusters import MemoryIndex
from fakes.ingest import NO_ROWS
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.ingest.polled_commits import CommitPoller, PollIngester
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, TopicPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.key_index import KeyRows
from offset_sync.state.restore import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS

ORDERS = TopicPartition("orders", 0)
KEY = GroupPartition("g", *ORDERS)
CONFIG = config_of(["X", "Y"]).model_copy(
    update={
        "clusters": {
            alias: each.model_copy(update={"commits": "admin" if alias == "X" else "log"})
            for alias, each in config_of(["X", "Y"]).clusters.items()
        }
    }
)


@dataclass
class Broker:
    """Coordinators of X, in memory; *refused* groups have an error."""

    alias: str = "X"
    offsets: dict[str, dict[TopicPartition, Committed]] = field(default_factory=dict)
    refused: dict[str, ClusterError] = field(default_factory=dict)
    is_listing: bool = True

    def commit(self, offset: int | None, group_id: str = "g", place: TopicPartition = ORDERS, epoch: int = 7) -> None:
        """Commit, or delete."""
        held = self.offsets.setdefault(group_id, {})
        held.pop(place, None)
        if offset is not None:
            held[place] = Committed(offset, "meta", epoch)

    def groups(self, deadline: float) -> Collection[str]:
        if not self.is_listing:
            raise ClusterError("X", "a broker does not list its groups")
        return self.offsets.keys()

    def groups_of_all_types(self, deadline: float) -> Collection[str]:
        return [*self.offsets]

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Mapping[str, Any]:
        return {group: self.refused.get(group) or dict(self.offsets.get(group, {})) for group in groups}


class Job:
    """Polls X once per micro-batch; a later one has the same tables and the same broker."""

    def __init__(self, broker: Broker, tables: MemoryTables | None = None, now_ms: int = 1_000_000) -> None:
        self.broker, self.tables, self.now_ms = broker, tables or MemoryTables(), now_ms
        self.state = SyncState(CONFIG, MemoryIndex(), lambda: self.now_ms)
        tables_: Any = self.tables
        self.lives = CommitLogIncarnations(tables_, CONFIG.polled())
        restore_commits(tables_, self.state, self.lives)
        self.included: Collection[str] | None = None
        poller = CommitPoller(broker, self.state, self.is_included, threading.Lock(), lambda: 0.0)
        checkpoint: Any = self
        self.ingester = PollIngester("X", tables_, checkpoint, poller, self.state, self.lives)
        self.is_ready = threading.Event()
        self.is_ready.set()
        self.batch = SyncBatch(self.ingester, self.state, self, SyncMetrics(CONFIG), self.is_ready)

    def is_included(self, group_id: str) -> bool:
        return CONFIG.is_group_included(group_id) and (self.included is None or group_id in self.included)

    def query_id(self) -> str:
        """As a checkpoint says it."""
        return "query"

    def reconcile_batch(self, source: str, rows: KeyRows, batch_id: int) -> list[str]:
        return []

    def poll(self, batch_id: int) -> None:
        self.now_ms += 5_000
        self.batch(NO_ROWS, batch_id)

    def known(self, name: str, key: GroupPartition = KEY) -> int:
        (row,) = self.state.offsets.ids([key]).tolist()
        return int(self.state.offsets.clusters["X"].columns[name][row])

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        """Return these columns of the commits that were recorded, in the order of the polls."""
        found = self.tables.all_rows(OFFSET_COMMITS).sort_by([("log_offset", "ascending"), ("group_id", "ascending")])
        return list(zip(*(found[name].to_pylist() for name in names), strict=True))
