"""The job ``sync_offsets``: the commits of every cluster, translated and committed on the others."""

from __future__ import annotations

import argparse
import gc
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from prometheus_client.metrics_core import Metric
from pyspark.sql import SparkSession

from offset_sync.config import Config
from offset_sync.ingest.query_supervisor import STOPPED, QuerySupervisor
from offset_sync.jobs.commit_query import LOOKS, CommitQuery, Run, SyncParts, opened
from offset_sync.jobs.metrics.endpoint import open_endpoint
from offset_sync.jobs.metrics.logs import LogWatch
from offset_sync.jobs.metrics.positions import Positions, SyncSummary
from offset_sync.jobs.metrics.sync import CountedHistory, SyncMetrics, health
from offset_sync.jobs.spark_session import opened_tables
from offset_sync.jobs.watches import CoordinatorWatch, HomeWatch, Members, PartitionWatch, look_until
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.state.checked_metadata import checked_metadata
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.state.cluster_ids import with_first_ids, with_known_ids
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.heartbeat import EVERY_S, Heartbeat, beat
from offset_sync.state.known_names import open_clusters
from offset_sync.state.last_known import LOOK_S, LastKnown, is_over
from offset_sync.state.lease import FencedTables, UnwrittenTables
from offset_sync.state.moves import Moves
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Translator
from offset_sync.sync.distributed_writer import TaskWrites
from offset_sync.sync.groups_at_once import GroupsAtOnce
from offset_sync.sync.left_writes import LeftWrites
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import ReconcileLoop, Reconciler
from offset_sync.sync.translation_history import TranslationHistory
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.files import files_of

logger = logging.getLogger(__name__)
_MOVES_S, _ASK_S, _SUMMARY_S, _DUE_S = 1.0, 10.0, 60.0, 0.2
RENEWAL_S = 24 * 3600.0
"""How often memory is checked; a key is over a week after its group was deleted, and a renewal takes some seconds."""
WORTH_WHILE = 10_000
"""The least number of keys that are over, beside more than half of all: some megabytes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the job's arguments."""
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--dry-run", action="store_true", help="write the plan with outcome DRY_RUN, touch no cluster")
    kind.add_argument("--no-writes", action="store_true", help="the job itself, with its tables, but touch no cluster")


def sync_offsets(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Sync until stopped, or with ``--once`` up to the present ends; return one line per failure."""
    with opened_tables(config, "sync_offsets", CUTOVERS, reads_internal_topics=True) as (spark, tables):
        with_ids = with_known_ids if arguments.dry_run else with_first_ids
        config = with_ids(config, tables.files)
        with opened(config, tables, arguments, stop) as run:
            while not arguments.once and not stop.is_set():
                SyncJob(config, spark, run, is_once=False).run()
                gc.collect()  # its state and its clients go before the next one restores its own
            return SyncJob(config, spark, run, is_once=True).run() if arguments.once else []


class SyncJob:
    """Wires the parts: a query per cluster, the reconcile loop beside them, the history after them.

    A dry run does not disturb a running job: it continues from that job's position, and writes only its plan.
    """

    def __init__(self, config: Config, spark: SparkSession, run: Run, *, is_once: bool) -> None:
        self._config, self._run, self._is_once, self._lease = config, run, is_once, run.lease
        self._over, self._is_ready, soon = threading.Event(), threading.Event(), threading.Event()
        names, folders = config.names, (config.tables.root, config.tables.checkpoints)
        tables = FencedTables(config.tables.root, run.lease, files_of(config), names)
        seen = UnwrittenTables.of(config, names) if run.is_dry else tables
        self._at_once = {
            alias: GroupsAtOnce(alias, partial(config.java_options, alias), cluster_id=config.ids.get(alias, ""))
            for alias in config.clusters
        }
        self._admins = open_clusters(config, self._at_once)
        keep = None if run.is_dry else config.maintenance.keep_versions
        index = RecordIndex(tables, config.timed_topics(), memory_bytes=config.sync.index_memory, keep=keep)
        self._state = state = SyncState(config, index)
        self._history = TranslationHistory(tables, state.offsets.keys, config, is_dry=run.is_dry)
        self._metrics = SyncMetrics(config)
        self._positions = Positions(state, self._metrics.waiting)
        self._summary = SyncSummary(state, self._metrics, self._positions)
        fetcher = checked_metadata(config, self._admins, index, soon.set, is_once=is_once)
        writers = {alias: self._writer(spark, admin) for alias, admin in self._admins.items()}
        lists, history = ReadLists(config, state, self._admins), CountedHistory(self._history, self._metrics)
        self._reconciler = Reconciler(config, state, fetcher, writers, history, lists)
        ended = self._metrics.reconciled
        self._loop = ReconcileLoop(config.sync, state, self._reconciler, ended, soon, self._is_ready)
        self._last_known = LastKnown(tables, config, replaces=not run.is_dry)
        self._incarnations = CommitLogIncarnations(seen, config.polled())
        self._queries = QuerySupervisor(run.lease.stop, self._over, folders)
        left = LeftWrites(state, Translator(config, state), fetcher, self._queries.has_read)
        self._left_writes = left if run.lease.may_have_written else None
        run.lease.is_followed_up = self._left_writes is None
        self._homes = HomeWatch(state, Members(self._admins), Moves(tables, dates=True), soon.set)
        state.before_foreign = self._homes.follow_moves
        restart = self._queries.restart
        self._partitions = PartitionWatch(state, self._admins, self._incarnations, soon.set, restart)
        parts = SyncParts(
            *(config, spark, run, is_once, seen, state, self._incarnations, self._reconciler, self._metrics),
            *(self._queries, self._partitions, self._is_ready, self._left_writes),
        )
        self._by_alias = {alias: CommitQuery(parts, admin) for alias, admin in self._admins.items()}
        checks = {alias: each.coordinators for alias, each in self._by_alias.items() if each.coordinators is not None}
        self._coordinators = CoordinatorWatch(state, checks, soon.set)
        self._restore()

    def _writer(self, spark: SparkSession, admin: ClusterAdmin) -> TargetWriter:
        return TargetWriter(
            admin.alias,
            self._config.admin_options(admin.alias),
            not self._run.is_writing,
            fence=self._lease,
            admin=admin,
            by_tasks=TaskWrites(spark, self._lease),
            names=self._config.names,
        )

    def _restore(self) -> None:
        """Restore the state of previous drivers; their positions are read first, so that no commit falls between."""
        for alias, query in self._by_alias.items():
            self._queries.add(alias, query)
            query.begin()
        captured_ms = self._last_known.restore(self._state, self._incarnations)
        for query in self._by_alias.values():
            query.begin_after(captured_ms)
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
            for each in self._at_once.values():
                each.close()

    def _run_once(self) -> list[str]:
        """Read every log to its end, then reconcile everything; return one line per failure."""
        errors = self._queries.run_once()
        failures = self._queries.failures()
        # Do not wait for an unreachable cluster: the next run reads its commits.
        self._note_read([alias for alias, query in self._by_alias.items() if alias not in errors or query.is_gone])
        self._lease.settle()
        self._homes.ask_members()
        self._partitions.note_growth()
        if STOPPED not in errors.values():
            self._lease.is_followed_up = True
            failures += self._coordinators.compare(errors)
            self._state.index.refresh()
            failures += self._loop.full_pass(is_first=True)
        self._history.close()
        logger.info("%s", self._summary.ended())
        return failures + ([self._history.error] if self._history.error else [])

    def _run_until_over(self) -> list[str]:
        """Sync until the job is stopped, or has to restart in the process; failures are retried."""
        logs = LogWatch(self._config, self._admins, self._state.index)
        told = [self._health, self._metrics.collect, self._positions.collect, logs.collect]
        endpoint = None if self._run.is_dry else open_endpoint("sync_offsets", self._config.metrics, told)
        always: dict[Callable[[], object], float] = {
            self._loop.pass_if_due: _DUE_S,
            self._loop.follow_index: max(_DUE_S, (self._config.sync.trigger_interval / LOOKS).total_seconds()),
            self._homes.follow_moves: _MOVES_S,
            self._homes.ask_members: _ASK_S,
            self._partitions.note_growth: _ASK_S,
        }
        always |= {} if endpoint is None else {logs.check: self._config.sync.reconcile_interval.total_seconds()}
        later: dict[Callable[[], object], float] = {self._summary.log: _SUMMARY_S, self._coordinators.compare: _MOVES_S}
        if not self._run.is_dry:
            later |= {self._renew: RENEWAL_S, self._beat: EVERY_S, self._last_known.replace_if_grown: LOOK_S}
        beside = [
            threading.Thread(target=look_until, args=(pause_s, look, self._over, is_ready), daemon=True)
            for looks, is_ready in ((always, None), (later, self._is_ready))
            for look, pause_s in looks.items()
        ]
        for each in beside:
            each.start()
        self._queries.run_until_stopped(self._note_readiness)
        self._reconciler.close()
        for each in beside[:1] if self._lease.stop.is_set() else beside:  # a stop waits for no silent cluster
            each.join()
        self._history.close()
        if endpoint is not None:
            endpoint.close()
        return []

    def _note_readiness(self) -> None:
        has_caught_up = self._queries.have_caught_up() and self._state.index.is_loaded
        if not self._lease.is_settled or not (self._is_ready.is_set() or has_caught_up):
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
        complete = [alias for alias in aliases if self._by_alias[alias].ingester.has_all(self._state)]
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

    def _renew(self) -> None:
        """End the job, for the next one in this process, when many of its keys are over.

        Rows of keys are never reused while they may be referenced. The next one has no references, and restores no keys
        that are over (``state/last_known.py``): so memory follows the number of existing groups.
        """
        with self._state.lock:
            known, gone = len(self._state.offsets.keys), int(is_over(self._state.offsets).sum())
        if gone >= WORTH_WHILE and gone > known // 2:
            logger.info("%d of %d keys belong to deleted groups: restarting the job without them", gone, known)
            self._over.set()

    def _beat(self) -> None:
        """Tell readers of the tables that the answers there are of now."""
        # Without writes no answer is tried, so none is published.
        is_publishing = self._run.is_writing and not self._loop.is_first
        if is_publishing and self._lease.is_open() and self._history.error is None:
            said = Heartbeat(self._lease.epoch, system_now_ms(), self._state.clocks_ahead_ms())
            beat(files_of(self._config), self._config, said)

    def _health(self) -> Iterator[Metric]:
        return health(self._is_ready.is_set(), self._history.error, self._config.clusters, self._queries.errors())
