"""The real state, reconciler and clients between real clusters, without Spark: commits are recorded by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from builders.logs import log
from fakes.clusters import CommitRecord, MemoryIndex, to_records
from fakes.reconciler_site import config_of
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, TopicPartition
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.reconciliation import Reconciliation

FETCH_S, COMMIT_S, RETRY_S = 3.0, 4.0, 0.5
"""The deadlines of the tests: five, fifteen and two seconds in the jobs."""
PATIENCE_S = 180.0
"""So long a busy machine is waited for, beside others that want it whole."""
SHIFT = 2
"""The records of X have offsets higher by this at the other clusters."""


class LiveDirections:
    """Directions between the clusters at *servers*, by alias; X's *records* of each partition of orders are indexed."""

    def __init__(self, servers: Mapping[str, str], partitions: int, records: int) -> None:
        self.config = config_of(list(servers))
        options = {alias: {"bootstrap.servers": each} for alias, each in servers.items()}
        admins = {alias: ClusterAdmin(alias, each) for alias, each in options.items()}
        index = MemoryIndex()
        for alias, admin in admins.items():
            orders = admin.describe(["orders"])["orders"]
            assert not isinstance(orders, ClusterError)
            index.ids[alias, "orders"] = {orders.topic_id}
            for number in range(partitions):
                text = f"X0:{records}" if alias == "X" else f"{'. ' * SHIFT}X0:{records}"
                index.extend(log(alias, text), TopicPartition("orders", number))
        self.state = SyncState(self.config, index)
        self.reconciliations: list[Reconciliation] = []
        fetcher = MetadataFetcher(admins, FETCH_S, lambda: None, RETRY_S)
        writers = {alias: TargetWriter(alias, each, False, COMMIT_S) for alias, each in options.items()}
        self.reconciler = Reconciler(
            self.config, self.state, fetcher, writers, self.reconciliations, ReadLists(self.config, self.state, {})
        )
        self._log_offsets = dict.fromkeys(servers, 0)

    def committed(self, alias: str, offsets: Mapping[GroupPartition, int]) -> KeyRows:
        """Take in commits of groups at a cluster, as its log would bring them."""
        at_ms, first = round(time.time() * 1000), self._log_offsets[alias]
        self._log_offsets[alias] += len(offsets)
        records = [CommitRecord(key.group_id, key.topic_partition, offset, at_ms) for key, offset in offsets.items()]
        return self.state.record(alias, list(offsets), to_records(records, [], first)).genuine

    def batch(self, alias: str, offsets: Mapping[GroupPartition, int], batch_id: int = 1) -> float:
        """Take in a micro-batch and reconcile it; return how many seconds that took."""
        began = time.monotonic()
        self.reconciler.reconcile_batch(alias, self.committed(alias, offsets), batch_id)
        return time.monotonic() - began

    def until(self, is_so: Callable[[], object]) -> float:
        """Return after how many seconds it is so; what a busy machine has not committed in time a pass makes up for."""
        began = repaired = time.monotonic()
        while not is_so():
            if time.monotonic() - repaired > COMMIT_S:
                self.reconciler.reconcile_all()
                repaired = time.monotonic()
            assert time.monotonic() - began < PATIENCE_S, "not in time"
            time.sleep(0.05)
        return time.monotonic() - began


def until(is_so: Callable[[], object]) -> float:
    """Return after how many seconds it is so; AssertionError when it is not in time."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < PATIENCE_S, "not in time"
        time.sleep(0.05)
    return time.monotonic() - began
