"""The job ``sync_offsets``: the commits of every cluster, translated and committed on the others."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from prometheus_client.metrics_core import Metric
from pyspark.sql import SparkSession

from offset_sync.config import Config
from offset_sync.ingest.query_supervisor import STOPPED, QuerySupervisor
from offset_sync.jobs.commit_query import LOOKS, CommitQuery, SyncParts
from offset_sync.jobs.endpoint import Gauges, served
from offset_sync.jobs.spark_session import opened_tables
from offset_sync.jobs.sync_metrics import SyncMetrics
from offset_sync.jobs.watches import (
    CoordinatorWatch,
    LogWatch,
    PartitionWatch,
    look_until,
)
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import side_by_side
from offset_sync.model.errors import ConfigError
from offset_sync.model.text import to_count, to_duration
from offset_sync.state.checked_metadata import checked_metadata
from offset_sync.state.cluster_clock import WRONG_MS, system_now_ms
from offset_sync.state.cluster_ids import with_first_ids
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.heartbeat import EVERY_S, beat
from offset_sync.state.held_positions import note_members
from offset_sync.state.known_names import open_clusters
from offset_sync.state.last_known import LOOK_S, LastKnown, is_over
from offset_sync.state.lease import Claim, FencedTables, Lease, held, to_claims, unended
from offset_sync.state.moves import Moves
from offset_sync.state.noted_writes import NotedWrites
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.distributed_writer import DistributedWriter
from offset_sync.sync.groups_at_once import GroupsAtOnce
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import ReconcileLoop, Reconciler
from offset_sync.sync.reconciliation import ReconcilePass
from offset_sync.sync.translation_history import TranslationHistory
from offset_sync.tables.catalog import CUTOVERS, DRIVERS
from offset_sync.tables.files import files_of

logger = logging.getLogger(__name__)
_MOVES_S, _ASK_S, _SUMMARY_S, _DUE_S = 1.0, 10.0, 60.0, 0.2
_MEMBERS_S = 5.0
"""How long a cluster may take to list its groups."""
RENEWAL_S = 24 * 3600.0
"""How often memory is checked; a key is over a week after its group was deleted."""
DRY_BESIDE = (
    "--dry-run: {} runs sync_offsets, and would be taken over; stop it (if it was killed, start it again), or give "
    "tables.root and tables.checkpoints other places"
)
WORTH_WHILE = 10_000
"""The least number of keys that are over, beside more than half of all: some megabytes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the job's arguments."""
    parser.add_argument("--dry-run", action="store_true", help="do all but commit: answers have the outcome DRY_RUN")


def sync_offsets(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Sync until stopped, or with ``--once`` up to the present ends; return one line per failure."""
    with opened_tables(config, "sync_offsets", CUTOVERS, reads_internal_topics=True) as (spark, tables):
        for claim in unended(to_claims(tables.all_rows(DRIVERS)), "sync_offsets", None) if arguments.dry_run else ():
            if may_run(claim):
                raise ConfigError([DRY_BESIDE.format(claim.who)])
        config = with_first_ids(config, tables.files)
        with held(Lease(tables, "sync_offsets", stop)) as lease:
            return SyncJob(config, spark, lease, is_writing=not arguments.dry_run, is_once=arguments.once).run()


def may_run(claim: Claim) -> bool:
    """Return whether the process of a claim may be alive; errs to True, as for one of another host."""
    if claim.host == socket.gethostname():
        try:
            os.kill(claim.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
    return True


class SyncJob:
    """Wires the parts: a query per cluster, the reconcile loop beside them, the history after them.

    Unless it *is_writing*, no cluster is written to.
    """

    def __init__(self, config: Config, spark: SparkSession, lease: Lease, *, is_writing: bool, is_once: bool) -> None:
        self._config, self._lease, self._is_writing, self._is_once = config, lease, is_writing, is_once
        self._failures = list[str]()
        self._over, self._is_ready = threading.Event(), threading.Event()
        self._soon = soon = threading.Event()  # a reconcile pass is due
        names, folders = config.names, (config.tables.root, config.tables.checkpoints)
        tables = FencedTables(config.tables.root, lease, files_of(config), names)
        self._at_once = {
            alias: GroupsAtOnce(alias, partial(config.java_options, alias), cluster_id=config.ids.get(alias, ""))
            for alias in config.clusters
        }
        self._admins = open_clusters(config, self._at_once)
        keep, memory_bytes = config.maintenance.keep_versions, config.sync.index_memory
        index = RecordIndex(tables, config.timed_topics(), memory_bytes=memory_bytes, keep=keep)
        self._state = state = SyncState(config, index)
        self._noted = NotedWrites(tables.files, config, lease.epoch, state)
        self._history = TranslationHistory(tables, state.offsets.keys, config)
        self._metrics = SyncMetrics(config, state, self._history)
        fetcher = checked_metadata(config, self._admins, index, soon.set, is_once=is_once)
        writers = {alias: self._writer(spark, admin) for alias, admin in self._admins.items()}
        lists = ReadLists(config, state, self._admins)
        self._reconciler = Reconciler(ReconcilePass(config, state, fetcher, writers, self._metrics, lists))
        ended = self._metrics.reconciled
        self._loop = ReconcileLoop(config.sync, state, self._reconciler, ended, soon, self._is_ready)
        self._last_known = LastKnown(tables, config, replaces=True)
        self._incarnations = CommitLogIncarnations(tables, config.polled())
        self._queries = QuerySupervisor(lease.stop, self._over, folders)
        self._moves = Moves(tables)
        state.before_foreign = self._follow_moves
        restart = self._queries.restart
        self._partitions = PartitionWatch(state, self._admins, self._incarnations, soon.set, restart)
        parts = SyncParts(
            *(config, spark, lease, is_once, tables, state, self._incarnations, self._reconciler, self._metrics),
            *(self._queries, self._partitions, self._is_ready),
        )
        self._by_alias = {alias: CommitQuery(parts, admin) for alias, admin in self._admins.items()}
        checks = {alias: each.coordinators for alias, each in self._by_alias.items() if each.coordinators is not None}
        self._coordinators = CoordinatorWatch(state, checks, soon.set)
        self._restore()

    def _writer(self, spark: SparkSession, admin: ClusterAdmin) -> DistributedWriter:
        options, names = self._config.admin_options(admin.alias), self._config.names
        writer_of = partial(TargetWriter, admin.alias, options, not self._is_writing, names=names)
        return DistributedWriter(spark, writer_of(fence=self._lease, admin=admin), writer_of, self._lease)

    def _restore(self) -> None:
        """Restore the state of previous drivers, once these can write no more.

        Their positions are read first, so that no commit falls between.
        """
        self._lease.settle()
        for alias, query in self._by_alias.items():
            self._queries.add(alias, query)
            query.begin()
        captured_ms = self._last_known.restore(self._state, self._incarnations)
        self._noted.inherit()
        if self._is_writing:
            self._state.before_write = self._noted.note
        for query in self._by_alias.values():
            query.begin_after(captured_ms)
        self._follow_moves()
        self._partitions.begin_new_partitions()
        self._state.unread.begin(self._config.clusters)

    def run(self) -> list[str]:
        """Sync once or until stopped; return one line per failure of the former."""
        try:
            return self._run_once() if self._is_once else self._run_until_stopped()
        finally:
            for each in self._at_once.values():
                each.close()

    def _run_once(self) -> list[str]:
        """Read every log to its end, then reconcile everything; return one line per failure."""
        errors = self._queries.run_once()
        failures = self._queries.failures()
        # Do not wait for an unreachable cluster: the next run reads its commits.
        self._note_read([alias for alias, query in self._by_alias.items() if alias not in errors or query.is_gone])
        self._ask_members()
        self._partitions.note_growth()
        if STOPPED not in errors.values():
            failures += self._coordinators.compare(errors)
            self._state.index.refresh()
            failures += self._loop.full_pass(is_first=True)
        self._close()
        logger.info("done: %s", self._metrics.summary())
        return failures + ([self._history.error] if self._history.error else [])

    def _run_until_stopped(self) -> list[str]:
        """Sync until the job is stopped; failures are retried."""
        logs = LogWatch(self._config, self._admins, self._state.index)
        told = [*self._metrics.collectors(), Gauges(self._health), Gauges(logs.gauges)]
        with served("sync_offsets", self._config.metrics, told):
            self._run_beside(logs)
        return self._failures

    def _run_beside(self, logs: LogWatch) -> None:
        """Run the queries, and beside them all that is looked at from time to time."""
        ready = self._is_ready
        looks: list[tuple[Callable[[], object], float, threading.Event | None]] = [
            (self._loop.pass_if_due, _DUE_S, None),
            (self._loop.follow_index, max(_DUE_S, (self._config.sync.trigger_interval / LOOKS).total_seconds()), None),
            (self._follow_moves, _MOVES_S, None),
            (self._ask_members, _ASK_S, None),
            (self._partitions.note_growth, _ASK_S, None),
            (self._summarize, _SUMMARY_S, ready),
            (self._coordinators.compare, _MOVES_S, ready),
            (self._renew, RENEWAL_S, ready),
            (self._beat, EVERY_S, ready),
            (self._last_known.replace_if_grown, LOOK_S, ready),
        ]
        if self._config.metrics.sync_offsets_port is not None:
            looks.append((logs.check, self._config.sync.reconcile_interval.total_seconds(), None))
        beside = [
            threading.Thread(target=look_until, args=(pause_s, look, self._over, is_due), daemon=True)
            for look, pause_s, is_due in looks
        ]
        for each in beside:
            each.start()
        self._queries.run_until_stopped(self._note_readiness)
        self._reconciler.close()
        beside[0].join()  # the others may wait for a silent cluster
        self._close()

    def _close(self) -> None:
        self._history.close()
        if self._is_writing and self._lease.is_open():
            for target in {target for _, target in self._config.pairs()}:
                try:
                    self._noted.note_held(target)
                except OSError as problem:
                    logger.warning("clusters.%s: our offsets are not noted for a rebuild: %s", target, problem)

    def _follow_moves(self) -> None:
        if self._moves.follow(self._state):
            self._soon.set()

    def _ask_members(self) -> None:
        note_members(self._state, side_by_side(lambda alias: self._admins[alias].groups(_MEMBERS_S), self._admins))

    def _summarize(self) -> None:
        logger.info("%s", self._metrics.summary())
        for alias, each in self._state.offsets.clusters.items():
            if (wrong_ms := abs(each.clock.ahead_ms or 0)) > WRONG_MS:
                logger.warning("clusters.%s: its clock is wrong by %s: correct it", alias, to_duration(wrong_ms))

    def _note_readiness(self) -> None:
        if not self._is_ready.is_set() and not (self._queries.have_caught_up() and self._state.index.is_loaded):
            return
        if unread := self._state.unread.aliases:
            self._note_read([alias for alias in unread if self._queries.has_caught_up(alias)])
        if not self._is_ready.is_set():
            with self._state.lock:
                keys = self._state.offsets.keys
                partitions, groups = to_count(len(keys)), to_count(len({key.group_id for key in keys}))
            logger.info("every commit log is read to its end: syncing %s partitions of %s groups", partitions, groups)
            self._is_ready.set()

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
        """Stop the job, to be started again, when many of its keys are over.

        Rows of keys are never reused while they may be referenced. A start restores no keys that are over
        (``state/last_known.py``): so memory follows the number of existing groups.
        """
        with self._state.lock:
            known, gone = len(self._state.offsets.keys), int(is_over(self._state.offsets).sum())
        if gone >= WORTH_WHILE and gone > known // 2:
            self._failures.append(f"{gone:,} of {known:,} keys belong to deleted groups: start it again, without them")
            self._lease.stop.set()

    def _beat(self) -> None:
        """Tell readers of the tables that the answers there are of now."""
        # Without writes no answer is tried, so none is published.
        is_publishing = self._is_writing and not self._loop.is_first
        if is_publishing and self._lease.is_open() and self._history.error is None:
            beat(files_of(self._config), self._config, self._lease.epoch, system_now_ms())

    def _health(self) -> Iterator[Metric]:
        return self._metrics.health(self._is_ready.is_set(), self._history.error, self._queries.errors())
