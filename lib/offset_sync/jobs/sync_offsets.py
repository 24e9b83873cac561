"""The job ``sync_offsets``: the commits of every cluster, translated and committed on the others."""

from __future__ import annotations

import argparse
import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.config import Config
from offset_sync.ingest import failpoints
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.commit_ingester import CommitIngester
from offset_sync.ingest.kafka_source import CONSUMER_OFFSETS, read_consumer_offsets
from offset_sync.ingest.query_supervisor import STOPPED, QuerySupervisor
from offset_sync.jobs.metrics.endpoint import Endpoint, open_endpoint
from offset_sync.jobs.metrics.group_collector import Positions
from offset_sync.jobs.metrics.log_collector import IndexSizes, LogWatch
from offset_sync.jobs.metrics.sync_collector import SyncMetrics
from offset_sync.jobs.spark_session import open_session
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, TopicPartition, WriteOutcome
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.own_writes import Intent
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.restore import restore_answers, restore_commits
from offset_sync.sync.deletions import follow_deletions
from offset_sync.sync.distributed_writer import DistributedWriter
from offset_sync.sync.intent_log import IntentLog, restore_intents
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.target_writer import TargetWriter
from offset_sync.sync.translation_history import TranslationHistory
from offset_sync.sync.write_ahead import WriteAheadWriter
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


def sync_offsets(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Sync until stopped, or with ``--once`` what is there now; return one line per failure."""
    spark = open_session("offset-sync sync_offsets", reads_internal_topics=True)
    try:
        job = SyncJob(config, spark, stop, is_dry_run=arguments.dry_run, is_once=arguments.once)
        return job.run_once() if arguments.once else job.run_until_stopped()
    finally:
        spark.stop()


class SyncJob:
    """One query per cluster that remembers and settles its commits, and a reconcile pass beside them."""

    def __init__(
        self, config: Config, spark: SparkSession, stop: threading.Event, *, is_dry_run: bool, is_once: bool
    ) -> None:
        self._config, self._spark, self._stop = config, spark, stop
        self._is_dry_run, self._is_once = is_dry_run, is_once
        self._admins = {
            alias: ClusterAdmin(alias, config.admin_options(alias), requests_in_flight=config.sync.requests_in_flight)
            for alias in config.clusters
        }
        self._commits = {alias: DistributedWriter(spark, self._target_commit(alias)) for alias in config.clusters}
        self._tables = TableStore(spark, config.tables.root)
        self._tables.create()
        self._lock = threading.RLock()
        self._is_ready = threading.Event()
        self._book = CommittedOffsets(list(config.clusters))
        self._intents = IntentLog(spark, f"{config.tables.checkpoints}/sync_offsets.intents")
        self._history = TranslationHistory(self._append_answers, self._book.keys, config.strategy_of)
        self._index = RecordIndex(self._tables, self._lock, config.is_timed)
        self._metrics = SyncMetrics(config)
        self._reconciler = Reconciler(
            config,
            self._book,
            self._index,
            MetadataFetcher(self._admins).look,
            self._commit if is_dry_run else WriteAheadWriter(self._book, self._lock, self._commit, self._intents),
            self._metrics.recording(self._history.record),
            _now_ms,
            self._lock,
        )
        # Kept when a query fails and is started again: they know what the batch in hand has already done.
        self._ingesters = {alias: self._ingester(alias) for alias in config.clusters}
        self._queries = QuerySupervisor(stop)
        for alias in config.clusters:
            self._queries.add(alias, self._metrics.starting(alias, partial(self._start_query, alias)))
        restore_commits(self._tables, self._book, self._lock)
        last = {pair: self._reconciler.pair(*pair) for pair in self._reconciler.pairs()}
        restore_answers(self._tables, self._book, last, self._lock)
        restore_intents(self._intents, self._book, self._lock)

    def run_once(self) -> list[str]:
        """Read every log to its end, then settle everything; return one line per failure."""
        errors = self._queries.run_once()
        failures = self._queries.failures()
        if STOPPED not in errors.values():
            failures += self._pass(is_first=True)
        self._history.close()
        return failures + ([self._history.error] if self._history.error else [])

    def run_until_stopped(self) -> list[str]:
        """Sync until the stop flag is set; what fails is tried again."""
        endpoint = self._open_endpoint()
        reconciling = threading.Thread(target=self._reconcile, name="reconcile", daemon=True)
        reconciling.start()
        self._queries.run_until_stopped(self._note_readiness)
        reconciling.join()
        self._history.close()
        if endpoint is not None:
            endpoint.close()
        return []

    def _open_endpoint(self) -> Endpoint | None:
        config, metrics = self._config, self._metrics
        metrics.ask(self._is_ready.is_set, self._queries.errors, lambda: self._history.error)
        for pair, waiting in metrics.waiting.items():
            waiting.restore(self._reconciler.pair(*pair))
        worst, lock = config.metrics.worst, self._lock
        watch = LogWatch(self._admins, config.is_topic_included, self._index, lock, worst)
        positions = Positions(self._reconciler, self._book, lock, metrics.waiting, worst, _now_ms)
        sizes = IndexSizes(self._index, lock, list(config.clusters))
        endpoint = open_endpoint("sync_offsets", config.metrics, [metrics, positions, sizes, watch])
        if endpoint is not None:
            watch.start(self._stop, config.sync.reconcile_interval.total_seconds())
        return endpoint

    def _note_readiness(self) -> None:
        if not self._is_ready.is_set() and self._queries.have_caught_up():
            logger.info("every log is read up to its end: syncing")
            self._is_ready.set()

    def _reconcile(self) -> None:
        sync = self._config.sync
        pause, interval = sync.trigger_interval.total_seconds(), sync.reconcile_interval.total_seconds()
        is_first, due_at = True, 0.0
        while not self._stop.wait(0.2 if is_first else min(pause, interval)):
            if not self._is_ready.is_set():
                continue
            is_due = is_first or time.monotonic() >= due_at
            due_at = time.monotonic() + interval if is_due else due_at
            try:
                for failure in (
                    self._pass(is_first=is_first) if is_due else self._reconciler.reconcile_waiting_for_index()
                ):
                    logger.warning("%s", failure)
                is_first = False
            except Exception:  # the next pass sees the same state and tries again
                logger.exception("reconcile pass failed")

    def _pass(self, *, is_first: bool) -> list[str]:
        with self._metrics.reconciling():
            failures = self._reconciler.reconcile_all(is_first=is_first)
            if self._config.sync.deletes == "follow" and not self._is_dry_run:
                failures += follow_deletions(self._book, self._lock, self._reconciler.pairs(), self._delete)
        return failures

    def _delete(
        self, target: str, group_id: str, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, str | None] | ClusterError:
        return self._admins[target].delete_offsets(group_id, partitions)

    def _target_commit(self, alias: str) -> TargetWriter:
        sync = self._config.sync
        return TargetWriter(
            alias,
            self._config.admin_options(alias),
            sync.requests_in_flight,
            sync.commit_timeout.total_seconds(),
            self._is_dry_run,
        )

    def _commit(self, target: str, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        outcomes = self._commits[target](writes)
        failpoints.failpoint(failpoints.AFTER_COMMIT)
        return outcomes

    def _append_answers(self, answers: pa.Table) -> None:
        self._tables.append(OFFSET_TRANSLATIONS, answers)
        if not self._intents.is_empty:
            held = answers.filter(pc.is_in(answers.column("outcome"), pa.array(["COMMITTED", "UNCHANGED"])))
            columns = (held.column(name) for name in ("target_cluster", "group_id", "topic", "partition"))
            rows = zip(*(column.to_pylist() for column in (*columns, held.column("target_offset"))), strict=True)
            self._intents.remove(Intent(*row) for row in rows)

    def _checkpoint(self, alias: str) -> Checkpoint:
        return Checkpoint(self._spark, f"{self._config.tables.checkpoints}/sync_offsets/{alias}")

    def _ingester(self, alias: str) -> CommitIngester:
        settle = partial(self._reconciler.reconcile_batch, alias)
        on_records = self._metrics.counting_records(alias)
        return CommitIngester(
            alias, self._tables, self._checkpoint(alias), self._book, self._lock, settle, self._is_ready, on_records
        )

    def _start_query(self, alias: str) -> StreamingQuery | None:
        partitions = self._admins[alias].partition_count(CONSUMER_OFFSETS)
        if not partitions:
            return None  # nobody has ever committed there
        take_in = self._metrics.timed(alias, self._ingesters[alias])
        writer = (
            read_consumer_offsets(self._spark, self._config, alias, partitions)
            .writeStream.queryName(f"sync_offsets {alias}")
            .option("checkpointLocation", self._checkpoint(alias).path)
            .foreachBatch(self._queries.stop_between_batches(take_in))
        )
        self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", alias)
        if self._is_once:
            return writer.trigger(availableNow=True).start()
        seconds = self._config.sync.trigger_interval.total_seconds()
        return writer.trigger(processingTime=f"{seconds} seconds").start()


def _now_ms() -> int:
    return int(time.time() * 1000)
