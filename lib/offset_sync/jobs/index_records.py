"""The job ``index_records``: every included topic of every cluster, headers only, into ``record_runs``."""

from __future__ import annotations

import argparse
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.ingest.failing_batches import FailingBatches
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import Backfill, IndexParts, IndexProgress, TopicAccess
from offset_sync.ingest.kafka_source import MirroredRecords, read_whole_ranges, read_whole_records, with_mirror_headers
from offset_sync.ingest.log_check import LogCheck
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder, identities_at
from offset_sync.ingest.unreadable_logs import SecondReader
from offset_sync.jobs.spark_session import check_logins, open_session
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.kafka.log_reader import RangeReader
from offset_sync.model.text import to_count, to_duration
from offset_sync.state.cluster_ids import with_first_ids
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.state.known_names import learn_names, strays
from offset_sync.state.lease import FencedTables, Lease, held
from offset_sync.state.seal import Sealer
from offset_sync.tables.files import files_of
from offset_sync.tables.format import check_checkpoints
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_POLL_S = 0.2
_LINE_EVERY_S, _SUMMARY_EVERY_S = 10.0, 60.0


class OtherQueries(Protocol):
    """The queries of an extension, in the place of those that read headers."""

    def add_to(self, queries: QuerySupervisor) -> None:
        """Add all of them to *queries*."""

    def begin(self) -> Callable[[], None]:
        """Begin what runs beside them; the returned function ends it, and waits for that."""

    def run_once(self, supervisor: Callable[[], QuerySupervisor]) -> list[str]:
        """Index up to what is there now; return one line per query that failed."""


class TimedTopics:
    """True for topics of strategy ``timestamp``: their runs also end where the timestamp changes."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def __call__(self, topic: str) -> bool:
        """Return whether the runs of *topic* have one timestamp each."""
        return self._config.is_timed(topic)


def builder_of(config: Config, alias: str) -> RunBuilder:
    """Return the builder of runs for records of cluster *alias*."""
    return RunBuilder(identities_at(config, alias), TimedTopics(config))


def index_records(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Index until stopped, or with ``--once`` up to the present ends; return one line per cluster that failed."""
    spark = open_session("offset-sync index_records", clusters=len(config.clusters))
    try:
        check_logins(config)
        tables = TableStore.of(config)
        tables.create()
        check_checkpoints(tables.files, config.tables.checkpoints)
        with held(Lease(tables, "index_records", stop)) as lease:
            return _index(config, spark, lease, is_once=arguments.once)
    finally:
        spark.stop()


def _index(config: Config, spark: SparkSession, lease: Lease, *, is_once: bool) -> Sequence[str]:
    tables = FencedTables(config.tables.root, lease, files_of(config), config.names)
    config = with_first_ids(config, tables.files)
    queries = _supervisor(config, lease)
    options = {alias: config.admin_options(alias) for alias in config.clusters}
    admins = {alias: ClusterAdmin(alias, each, config.names) for alias, each in options.items()}
    learn_names(config, admins)
    access = TopicAccess(config, admins)
    progress = IndexProgress()
    output = IndexOutput(progress, lease.stop)
    epochs = {alias: LeaderEpochs(alias, each, config.names) for alias, each in options.items()}
    late_ms = to_ms(config.sync.hole_grace)
    more = () if config.is_stamped else config.of_extension("maintenance").TABLES
    incarnations = IncarnationCheck(tables, epochs, lambda: highest_indexed(tables, more), late_ms)
    parts = IndexParts(spark, tables, queries, progress, admins, incarnations, lease, is_once)
    others: OtherQueries | None = None
    if not config.is_stamped:
        others = config.of_extension("index_queries")(config, access, parts)
    if others is not None:
        others.add_to(queries)
    else:
        for alias, admin in admins.items():
            queries.add(alias, _RecordQuery(config, admin, access, parts))

    def every_poll() -> None:
        if queries.have_caught_up() and not queries.have_all_failed():
            output.caught_up()

    output.start()
    sealer = Sealer(tables, config.maintenance.keep_versions, lease.stop)
    if is_once:
        failures = _run_once(queries) if others is None else others.run_once(lambda: _supervisor(config, lease))
        sealer.seal()
        output.end()
        return failures + access.refusals()
    watching = threading.Thread(target=_watch_rights, args=(access, queries, lease.stop), name="rights", daemon=True)
    watching.start()
    sealer.start()
    end = others.begin() if others is not None else lambda: None
    try:
        queries.run_until_stopped(every_poll)
    finally:
        end()
    return []


def _supervisor(config: Config, lease: Lease) -> QuerySupervisor:
    return QuerySupervisor(lease.stop, folders=(config.tables.root, config.tables.checkpoints))


def _run_once(queries: QuerySupervisor) -> list[str]:
    queries.run_once()
    return queries.failures()


def _watch_rights(access: TopicAccess, queries: QuerySupervisor, stop: threading.Event) -> None:
    """Restart queries whose topics may be read now; in a thread, as a silent cluster blocks."""
    while not stop.wait(_POLL_S):
        for alias in access.granted():
            queries.restart(alias)


class _RecordQuery:
    """The query of one cluster."""

    def __init__(self, config: Config, admin: ClusterAdmin, access: TopicAccess, parts: IndexParts) -> None:
        self._config, self._admin, self._access, self._parts = config, admin, access, parts
        reader = RangeReader(admin.alias, config.admin_options(admin.alias), names=config.names)
        self._again = SecondReader(admin, reader, MirroredRecords(config.mirror))
        access.watch(self._again.unreadable)
        self._failing = FailingBatches(admin.alias, self._again)

    def start(self) -> StreamingQuery | None:
        """Start to read the records of the included topics; None if there are none yet."""
        config, alias, parts = self._config, self._admin.alias, self._parts
        parts.lease.renew()
        checkpoint, names = parts.checkpoint(config, alias), config.names
        is_anything_there, refused = self._access.readable(alias)
        if not is_anything_there:
            # Spark fails on a pattern that matches no topic yet.
            return None
        reaches, only = self._again.unreadable.begin(
            checkpoint, lambda topic: config.is_topic_included(topic) and topic not in refused
        )
        parts.progress.expect(alias, {partition: reach.stable for partition, reach in reaches.items()})
        builder = builder_of(config, alias)
        left_out = [*(names.outside(alias, each) for each in refused), *strays(config, self._admin)]
        checks = Checks(self._admin, self._logs(), self._again)
        indexer = RecordIndexer(parts.tables, checkpoint, builder, checks, parts.progress)
        writer = (
            with_mirror_headers(read_whole_records(parts.spark, config, alias, left_out, only=only), config.mirror)
            .writeStream.queryName(f"index_records {alias}")
            .option("checkpointLocation", checkpoint.path)
            .foreachBatch(parts.queries.stop_between_batches(self._failing.guard(indexer, indexer)))
        )
        return parts.started(writer, alias, config.index.trigger_interval)

    def _logs(self) -> LogCheck:
        parts, alias, config = self._parts, self._admin.alias, self._config

        def again(ranges: OffsetRanges) -> DataFrame:
            records = read_whole_ranges(parts.spark, config, alias, ranges)
            return with_mirror_headers(records, config.mirror)

        asked = parts.asked(config, alias, again)
        origins = OriginCheck(alias, config.clusters)
        return LogCheck(alias, asked, origins, parts.incarnations)


def progress_line(now: Backfill) -> str:
    """Return the progress of a backfill in one line."""
    left = "unknown" if now.seconds_left is None else to_duration(now.seconds_left * 1000)
    counts = f"{to_count(now.records)} records, {to_count(round(now.records_per_s))} records/s"
    return f"{counts}, {now.share:.0%} of the records present at the start, time left {left}"


class IndexOutput:
    """Logs *progress* in a thread of its own until it is ended, or *stop* is set: more often until it has caught up."""

    def __init__(self, progress: IndexProgress, stop: threading.Event) -> None:
        self._progress, self._stop = progress, stop
        self._is_caught_up, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def start(self) -> None:
        """Start reporting."""
        self._thread.start()

    def caught_up(self) -> None:
        """Log once that the index has reached the log ends of the start."""
        if not self._is_caught_up.is_set():
            self._is_caught_up.set()
            self._log("caught up after")

    def end(self) -> None:
        """Log the totals, and stop reporting."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._log("ended after")

    def _log(self, what: str) -> None:
        lasted = to_duration(self._progress.seconds * 1000)
        logger.info("%s %s: %s", what, lasted, progress_line(self._progress.backfill()))

    def _run(self) -> None:
        while not self._ended.wait(_SUMMARY_EVERY_S if self._is_caught_up.is_set() else _LINE_EVERY_S):
            if self._stop.is_set():
                return
            self._log("indexing for")
