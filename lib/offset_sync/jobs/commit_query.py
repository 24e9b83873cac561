"""The query of ``sync_offsets`` at one cluster: over its ``__consumer_offsets``, or over polls of its coordinators."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import commit_checkpoint
from offset_sync.ingest.commit_batch import CommitReader
from offset_sync.ingest.commit_ingester import CommitIngester, Ingester, Reading
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.failing_batches import FailingBatches
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.kafka_source import read_consumer_offsets, read_polls
from offset_sync.ingest.polled_commits import CommitPoller, CoordinatorCheck, PollIngester
from offset_sync.ingest.query_supervisor import BatchFunction, QuerySupervisor
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.jobs.sync_metrics import SyncMetrics
from offset_sync.jobs.watches import PartitionWatch
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.kafka.requests import NotAuthorizedError
from offset_sync.kafka.topic_requests import DEADLINE_S
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.cluster_ids import verify
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.highest_indexed import highest_captured
from offset_sync.state.lease import Lease
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.reconciler import Reconciler
from offset_sync.tables.store import TableStore

LOOKS = 4
"""How often new commits are polled in a trigger interval."""


@dataclass(frozen=True)
class SyncParts:
    """What the queries of all clusters share; they write to *tables*. A run *is_once* reads up to the present ends."""

    config: Config
    spark: SparkSession
    lease: Lease
    is_once: bool
    tables: TableStore
    state: SyncState
    incarnations: CommitLogIncarnations
    reconciler: Reconciler
    metrics: SyncMetrics
    queries: QuerySupervisor
    partitions: PartitionWatch
    is_ready: threading.Event


class CommitQuery:
    """The query of the cluster of *admin*.

    Its parts are kept when it fails and is restarted: they know what the current micro-batch has already done.
    ``coordinators`` takes in what the log does not show; None where the coordinators are polled anyway. ``is_gone``:
    the cluster did not answer.
    """

    def __init__(self, parts: SyncParts, admin: ClusterAdmin) -> None:
        self._parts, self._admin, self._alias = parts, admin, admin.alias
        config, self.is_gone = parts.config, False
        self._checkpoint = commit_checkpoint(parts.tables.files, config, self._alias)
        self._is_polled = self._alias in config.polled()
        self._check: IncarnationCheck | None = None
        self.coordinators: PollIngester | None = None
        self.ingester, self._function = self._polls() if self._is_polled else self._log()

    def _polls(self) -> tuple[Ingester, BatchFunction]:
        not_writing = self._parts.reconciler.writing_to(self._alias)
        is_included = self._parts.config.is_group_included
        ingester = self._poll_ingester(CommitPoller(self._admin, self._parts.state, is_included, not_writing))
        return ingester, self._batch(ingester)

    def _log(self) -> tuple[Ingester, BatchFunction]:
        parts, config, alias = self._parts, self._parts.config, self._alias
        options = config.admin_options(alias)
        commits = CommitReader(alias, options)
        # One for each cluster, so that none waits for a slow one.
        highest = partial(highest_captured, parts.tables, parts.incarnations)
        epochs = {alias: LeaderEpochs(alias, options)}
        self._check = check = IncarnationCheck(parts.tables, epochs, highest)
        logs = CommitLogCheck(alias, self._checkpoint, MetadataFetcher({alias: self._admin}, DEADLINE_S), check)
        reading, clusters = Reading(logs, parts.incarnations, config.names), len(config.clusters) - len(config.polled())
        ingester = CommitIngester(alias, parts.tables, self._checkpoint, commits, clusters, reading)
        coordinators = CoordinatorCheck(self._admin, parts.state, config.is_group_included, ingester)
        self.coordinators = self._poll_ingester(coordinators)
        return ingester, FailingBatches(alias, commits).guard(self._batch(ingester), ingester)

    def _poll_ingester(self, poller: CommitPoller) -> PollIngester:
        parts = self._parts
        return PollIngester(self._alias, parts.tables, self._checkpoint, poller, parts.state, parts.incarnations)

    def _batch(self, ingester: Ingester) -> BatchFunction:
        parts = self._parts
        reconcile = parts.reconciler.reconcile_batch
        self._sync = SyncBatch(ingester, parts.state, reconcile, parts.is_ready)
        return parts.metrics.counted(self._alias, self._sync)

    def begin(self) -> None:
        """Note how far previous drivers have read, before the state is restored: no commit falls between."""
        self.ingester.note_taken_in(self._checkpoint.last_committed())

    def begin_after(self, captured_ms: int) -> None:
        """Have new incarnations of the log begin after the last row of previous drivers."""
        if self._check is not None:
            self._check.begin_after(captured_ms)

    def start(self) -> StreamingQuery | None:
        """Start to read the commits; None if there is no ``__consumer_offsets`` yet."""
        parts, alias = self._parts, self._alias
        parts.lease.renew()
        try:
            self._checkpoint.begin(partial(verify, parts.config, parts.tables.files, alias))
            records = read_polls(parts.spark) if self._is_polled else self._records()
        except ClusterError as problem:
            self.is_gone |= not isinstance(problem, NotAuthorizedError)
            raise
        if records is None:
            return None
        self._sync.note_start()
        checkpoint = self._checkpoint.path
        return parts.queries.stream(f"sync_offsets {alias}", records, checkpoint, self._function, self._interval)

    def _records(self) -> DataFrame | None:
        partitions = self._admin.partition_count(CONSUMER_OFFSETS)
        if not partitions:
            return None
        self._parts.partitions.note_partitions(self._alias)
        return read_consumer_offsets(self._parts.spark, self._parts.config, self._alias, partitions)

    @property
    def _interval(self) -> timedelta | None:
        sync = self._parts.config.sync
        pause = sync.poll_interval if self._is_polled else sync.trigger_interval / LOOKS
        return None if self._parts.is_once else pause
