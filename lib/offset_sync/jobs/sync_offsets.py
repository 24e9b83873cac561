"""The job ``sync_offsets``: the commits of every cluster, translated and committed on the others."""

from __future__ import annotations

import argparse
import gc
import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint, commit_checkpoint
from offset_sync.ingest.commit_ingester import CommitIngester
from offset_sync.ingest.failing_batches import FailingBatches
from offset_sync.ingest.kafka_source import read_consumer_offsets, read_polls
from offset_sync.ingest.polled_commits import CommitPoller
from offset_sync.ingest.query_supervisor import STOPPED, BatchFunction, QuerySupervisor
from offset_sync.jobs.metrics.endpoint import Endpoint, open_endpoint
from offset_sync.jobs.metrics.logs import LogWatch
from offset_sync.jobs.metrics.positions import Positions
from offset_sync.jobs.metrics.sync import CountedHistory, JobHealth, SyncMetrics
from offset_sync.jobs.spark_session import check_logins, open_session
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.jobs.sync_run import (
    CommitReading,
    Renewal,
    Run,
    SyncSummary,
    TargetWriters,
    opened,
)
from offset_sync.jobs.watches import ASK_S, MOVES_S, CoordinatorWatch, HomeWatch, PartitionWatch, look_until
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import NotAuthorizedError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.checked_metadata import checked_metadata
from offset_sync.state.cluster_ids import verify, with_first_ids, with_known_ids
from offset_sync.state.known_names import learn_names
from offset_sync.state.last_known import LastKnown
from offset_sync.state.lease import FencedTables, UnwrittenTables
from offset_sync.state.members import Members
from offset_sync.state.moves import Moves
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Translator
from offset_sync.sync.left_writes import LeftWrites
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconcile_loop import ReconcileLoop
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.translation_history import TranslationHistory
from offset_sync.tables.catalog import CUTOVERS, TABLES
from offset_sync.tables.files import files_of
from offset_sync.tables.format import check_checkpoints
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
Loop = Callable[[threading.Event, threading.Event], object]
"""Runs until the first one is set; the second one is, once every commit log was read to its end."""
LOOKS = 4
"""How often new commits are polled in a trigger interval."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the job's arguments."""
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--dry-run", action="store_true", help="write the plan with outcome DRY_RUN, touch no cluster")
    kind.add_argument("--no-writes", action="store_true", help="the job itself, with its tables, but touch no cluster")


def sync_offsets(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Sync until stopped, or with ``--once`` up to the present ends; return one line per failure."""
    spark = open_session("offset-sync sync_offsets", reads_internal_topics=True)
    try:
        check_logins(config)
        tables = TableStore.of(config)
        tables.create((*TABLES, CUTOVERS))
        check_checkpoints(tables.files, config.tables.checkpoints)
        with_ids = with_known_ids if arguments.dry_run else with_first_ids
        config = with_ids(config, tables.files)
        with opened(config, tables, arguments, stop) as run:
            while not arguments.once and not stop.is_set():
                SyncJob(config, spark, run, is_once=False).run()
                gc.collect()  # its state and its clients go before the next one restores its own
            return SyncJob(config, spark, run, is_once=True).run() if arguments.once else []
    finally:
        spark.stop()


class SyncJob:
    """Wires the parts: a query per cluster, the reconcile loop beside them, the history after them.

    A dry run does not disturb a running job: it continues from that job's position, and writes only its plan.
    """

    def __init__(self, config: Config, spark: SparkSession, run: Run, *, is_once: bool) -> None:
        self._config, self._spark, self._run, self._is_once = config, spark, run, is_once
        self._lease, self._over = run.lease, threading.Event()
        self._is_ready, self._gone = threading.Event(), set[str]()
        self._tables = FencedTables(config.tables.root, run.lease, files_of(config), config.names)
        self._writers = TargetWriters(config, spark, run)
        self._admins: Mapping[str, ClusterAdmin] = self._writers.admins
        learn_names(config, self._admins)
        keep = None if run.is_dry else config.maintenance.keep_versions
        memory_bytes = config.sync.index_memory
        index = RecordIndex(self._tables, config.timed_topics(), memory_bytes=memory_bytes, keep=keep)
        self._state = SyncState(config, index)
        self._history = TranslationHistory(self._tables, self._state.offsets.keys, config)
        self._metrics = SyncMetrics(config)
        self._positions = Positions(self._state, self._metrics.waiting)
        self._summary = SyncSummary(self._state, self._metrics, self._positions)
        soon = threading.Event()
        fetcher = checked_metadata(config, self._admins, self._state.index, soon.set, is_once=is_once)
        history = CountedHistory(self._history, self._metrics)
        lists = ReadLists(config, self._state, self._admins)
        self._reconciler = Reconciler(config, self._state, fetcher, self._writers.by_alias, history, lists)
        self._loop = ReconcileLoop(config.sync, self._state, self._reconciler, self._metrics.reconciled, soon)
        seen = UnwrittenTables.of(config, config.names) if run.is_dry else self._tables
        checkpoints = {alias: self._checkpoint(alias) for alias in config.clusters}
        pollers = {alias: self._poller(alias) for alias in config.polled()}
        self._last_known = LastKnown(self._tables, config, replaces=not run.is_dry)
        self._reading = CommitReading(config, seen, self._admins, checkpoints, self._state, pollers)
        translator = Translator(config, self._state)
        folders = config.tables.root, config.tables.checkpoints
        self._queries = QuerySupervisor(run.lease.stop, self._over, folders)
        left = LeftWrites(self._state, translator, fetcher, self._queries.has_read)
        self._left_writes = left if run.lease.may_have_written else None
        run.lease.is_followed_up = self._left_writes is None
        self._syncs = dict[str, SyncBatch]()
        self._batches = {alias: self._batch(alias) for alias in config.clusters}
        for alias in config.clusters:
            self._queries.add(alias, _CommitQuery(self, alias))
        incarnations = self._reading.incarnations
        self._homes = HomeWatch(self._state, Members(self._admins), Moves(self._tables, dates=True), soon.set)
        self._coordinators = CoordinatorWatch(self._state, self._reading.coordinators, soon.set)
        self._state.before_foreign = self._homes.follow_moves
        self._partitions = PartitionWatch(self._state, self._admins, incarnations, soon.set, self._queries.restart)
        self._restore()

    def _restore(self) -> None:
        """Restore the state of previous drivers; their positions are read first, so that no commit falls between."""
        config, files = self._config, self._tables.files
        done = {alias: commit_checkpoint(files, config, alias) for alias in config.clusters}
        self._positions_before = {a: each.position() for a, each in done.items() if a not in config.polled()}
        if not self._run.is_dry:
            for alias, checkpoint in done.items():
                self._reading.ingesters[alias].note_taken_in(checkpoint.last_committed())
        self._reading.begin_after(self._last_known.restore(self._state, self._reading.incarnations))
        self._homes.follow_moves()
        self._partitions.begin_new_partitions()
        if self._left_writes is not None:
            self._left_writes.begin()
            self._homes.ask_members()
        self._state.unread.begin(self._config.clusters)
        for pair, waiting in self._metrics.waiting.items():
            waiting.restore(self._state.last(*pair))

    def run(self) -> list[str]:
        """Sync once or until stopped; return one line per failure of the former."""
        try:
            return self._run_once() if self._is_once else self._run_until_over()
        finally:
            self._writers.close()

    def _run_once(self) -> list[str]:
        """Read every log to its end, then reconcile everything; return one line per failure."""
        errors = self._queries.run_once()
        failures = self._queries.failures()
        # Do not wait for an unreachable cluster: the next run reads its commits.
        self._note_read(self._config.clusters.keys() - (errors.keys() - self._gone))
        self._lease.settle()
        self._homes.ask_members()
        self._partitions.note_growth()
        if STOPPED not in errors.values():
            self._lease.is_followed_up = True
            failures += self._coordinators.compare(errors)
            failures += self._loop.full_pass(is_first=True)
        self._history.close()
        logger.info("%s", self._summary.ended())
        return failures + ([self._history.error] if self._history.error else [])

    def _run_until_over(self) -> list[str]:
        """Sync until the job is stopped, or has to restart in the process; failures are retried."""
        endpoint = None if self._run.is_dry else self._open_endpoint()
        looks = {self._homes.follow_moves: MOVES_S, self._homes.ask_members: ASK_S, self._partitions.note_growth: ASK_S}
        loops: list[Loop] = [self._loop.run, self._summary.run, self._coordinators.run]
        loops += [partial(look_until, pause_s, look) for look, pause_s in looks.items()]
        loops += [] if self._run.is_dry else [self._last_known.run, Renewal(self._state, self._over).run]
        beside = [threading.Thread(target=run, args=(self._over, self._is_ready), daemon=True) for run in loops]
        for each in beside:
            each.start()
        self._queries.run_until_stopped(self._note_readiness)
        self._reconciler.close()
        for each in beside[:2] if self._lease.stop.is_set() else beside:  # a stop waits for no silent cluster
            each.join()
        self._history.close()
        if endpoint is not None:
            endpoint.close()
        return []

    def start_query(self, alias: str) -> StreamingQuery | None:
        """Start to read the commits of a cluster; None if it has no ``__consumer_offsets`` yet."""
        self._lease.renew()
        checkpoint, files = self._checkpoint(alias), None if self._run.is_dry else self._tables.files
        try:
            checkpoint.begin(partial(verify, self._config, files, alias))
            records = read_polls(self._spark) if alias in self._config.polled() else self._log(alias)
        except ClusterError as problem:
            self._gone |= set() if isinstance(problem, NotAuthorizedError) else {alias}
            raise
        if records is None:
            return None
        self._syncs[alias].note_start()
        writer = (
            records.writeStream.queryName(f"sync_offsets {alias}")
            .option("checkpointLocation", checkpoint.path)
            .foreachBatch(self._queries.stop_between_batches(self._batches[alias]))
        )
        self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", alias)
        return writer.trigger(**self._trigger(alias)).start()

    def _log(self, alias: str) -> DataFrame | None:
        """Return the records of a cluster's commit log; None if it has none yet."""
        partitions = self._admins[alias].partition_count(CONSUMER_OFFSETS)
        if not partitions:
            return None
        self._partitions.note_partitions(alias)
        starting = self._positions_before[alias] if self._run.is_dry else None
        return read_consumer_offsets(self._spark, self._config, alias, partitions, starting)

    def _trigger(self, alias: str) -> dict[str, Any]:
        if self._is_once:
            return {"availableNow": True}
        sync = self._config.sync
        pause = sync.poll_interval if alias in self._config.polled() else sync.trigger_interval / LOOKS
        return {"processingTime": f"{pause.total_seconds()} seconds"}

    def _note_readiness(self) -> None:
        if not self._lease.is_settled or not (self._is_ready.is_set() or self._queries.have_caught_up()):
            return
        if unread := self._state.unread.aliases:
            self._note_read([alias for alias in unread if self._queries.has_caught_up(alias)])
        if not self._is_ready.is_set():
            logger.info("%s", self._summary.caught_up())
            self._is_ready.set()
            # A restart in this process has no previous driver.
            self._lease.may_have_written, self._lease.is_followed_up = False, True
            if self._left_writes is not None:
                self._left_writes.forget()

    def _note_read(self, aliases: Collection[str]) -> None:
        """Note which clusters' commit logs are read to their ends; while others are not, not every commit counts."""
        complete = [alias for alias in aliases if self._reading.ingesters[alias].has_all(self._state)]
        with self._state.lock:
            fresh, unread = self._state.note_read(complete), sorted(self._state.unread.aliases)
        if self._is_ready.is_set():
            for alias in fresh:
                logger.info("clusters.%s: commit log read to its end now, too", alias)
        elif unread:
            logger.warning(
                "clusters.%s: commit log not caught up since start; commits of others for its groups are on hold",
                ", clusters.".join(unread),
            )

    def _open_endpoint(self) -> Endpoint | None:
        config, queries, history = self._config, self._queries, self._history
        health = JobHealth(config.clusters, self._is_ready.is_set, queries.errors, lambda: history.error)
        logs = LogWatch(config, self._admins, self._state.index)
        endpoint = open_endpoint("sync_offsets", config.metrics, [health, self._metrics, self._positions, logs])
        if endpoint is not None:
            given = config.sync.reconcile_interval.total_seconds(), logs.check, self._over
            threading.Thread(target=look_until, args=given, name="log watch", daemon=True).start()
        return endpoint

    def _batch(self, alias: str) -> BatchFunction:
        ingester = self._reading.ingesters[alias]
        sync = SyncBatch(ingester, self._state, self._reconciler, self._metrics, self._is_ready, self._left_writes)
        self._syncs[alias] = sync
        if not isinstance(ingester, CommitIngester):
            return sync
        return FailingBatches(alias, self._reading.commits[alias]).guard(sync, ingester)

    def _poller(self, alias: str) -> CommitPoller:
        is_included, lock = self._config.is_group_included, self._reconciler.writing_to(alias)
        return CommitPoller(self._admins[alias], self._state, is_included, lock)  # no poll while this job writes

    def _checkpoint(self, alias: str) -> Checkpoint:
        return commit_checkpoint(self._tables.files, self._config, alias, self._run.checkpoints)


class _CommitQuery:
    """The query of one cluster."""

    def __init__(self, job: SyncJob, alias: str) -> None:
        self._job, self._alias = job, alias

    def start(self) -> StreamingQuery | None:
        return self._job.start_query(self._alias)
