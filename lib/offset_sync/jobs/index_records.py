"""The job ``index_records``: every included topic of every cluster, headers only, into ``record_runs``."""

from __future__ import annotations

import argparse
import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.ingest.failing_batches import FailingBatches
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import IndexParts, IndexProgress, TopicAccess
from offset_sync.ingest.kafka_source import MirroredRecords, read_whole_ranges, read_whole_records, with_mirror_headers
from offset_sync.ingest.log_check import LogCheck
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder, identities_at
from offset_sync.ingest.run_cuts import cut_logs
from offset_sync.ingest.unreadable_logs import SecondReader
from offset_sync.jobs.spark_session import opened_tables
from offset_sync.jobs.watches import look_until
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.kafka.log_reader import RangeReader
from offset_sync.model.text import to_count, to_duration
from offset_sync.state.cluster_ids import with_first_ids
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.state.known_names import open_clusters, strays
from offset_sync.state.lease import FencedTables, Lease, held
from offset_sync.state.seal import seal_if_due
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import files_of

logger = logging.getLogger(__name__)
_POLL_S = 0.2
_LINE_EVERY_S, _SEAL_EVERY_S = 30.0, 10.0


class OtherQueries(Protocol):
    """The queries of an extension, in the place of those that read headers."""

    def add_to(self, queries: QuerySupervisor) -> None:
        """Add all of them to *queries*."""

    def begin(self) -> Callable[[], None]:
        """Begin what runs beside them; the returned function ends it, and waits for that."""

    def run_once(self, supervisor: Callable[[], QuerySupervisor]) -> list[str]:
        """Index up to what is there now; return one line per query that failed."""


def index_records(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Index until stopped, or with ``--once`` up to the present ends; return one line per cluster that failed."""
    is_over = threading.Event()
    with (
        opened_tables(config, "index_records", clusters=len(config.clusters)) as (spark, tables),
        held(Lease(tables, "index_records", stop)) as lease,
    ):
        try:
            return _index(config, spark, lease, is_over, is_once=arguments.once)
        finally:
            is_over.set()


def _index(
    config: Config, spark: SparkSession, lease: Lease, is_over: threading.Event, *, is_once: bool
) -> Sequence[str]:
    tables = FencedTables(config.tables.root, lease, files_of(config), config.names)
    config = with_first_ids(config, tables.files)
    queries = _supervisor(config, lease)
    admins = open_clusters(config)
    access, progress = TopicAccess(config, admins), IndexProgress()
    epochs = {alias: LeaderEpochs(alias, config.admin_options(alias), config.names) for alias in admins}
    more = () if config.is_stamped else config.of_extension("maintenance").TABLES
    highest, late_ms = partial(highest_indexed, tables, more), to_ms(config.sync.hole_grace)
    incarnations = IncarnationCheck(
        tables, epochs, highest, late_ms, partial(cut_logs, tables, config.maintenance.keep_versions)
    )
    interval = None if is_once else config.index.trigger_interval
    parts = IndexParts(spark, tables, queries, progress, admins, incarnations, lease, interval)
    others: OtherQueries | None = None
    if config.is_stamped:
        for alias, admin in admins.items():
            queries.add(alias, _RecordQuery(config, admin, access, parts))
    else:
        others = config.of_extension("index_queries")(config, access, parts)
        others.add_to(queries)
    _beside("progress", _LINE_EVERY_S, partial(tell, progress, "indexing for", is_begun=False), is_over)
    sealing = partial(seal_if_due, tables, tables.segments(RECORD_RUNS), config.maintenance.keep_versions)
    if is_once:
        if others is None:
            queries.run_once()
            failures = queries.failures()
        else:
            failures = others.run_once(lambda: _supervisor(config, lease))
        sealing()
        tell(progress, "ended after")
        return failures + access.refusals()

    def restart_granted() -> None:
        for alias in access.granted():
            queries.restart(alias)

    _beside("rights", _POLL_S, restart_granted, lease.stop)  # a silent cluster blocks it
    _beside("sealing", _SEAL_EVERY_S, sealing, lease.stop)
    end = others.begin() if others is not None else lambda: None
    try:
        queries.run_until_stopped()
    finally:
        end()
    return []


def _beside(name: str, pause_s: float, look: Callable[[], object], stop: threading.Event) -> None:
    threading.Thread(target=look_until, args=(pause_s, look, stop), name=name, daemon=True).start()


def _supervisor(config: Config, lease: Lease) -> QuerySupervisor:
    return QuerySupervisor(lease.stop, folders=(config.tables.root, config.tables.checkpoints))


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
        builder = RunBuilder(identities_at(config, alias), config.is_timed)
        left_out = [*(names.outside(alias, each) for each in refused), *strays(config, self._admin)]
        checks = Checks(self._logs(), self._again)
        indexer = RecordIndexer(parts.tables, checkpoint, builder, checks, parts.progress)
        records = with_mirror_headers(
            read_whole_records(parts.spark, config, alias, left_out, only=only), config.mirror
        )
        function = self._failing.guard(indexer, indexer)
        return parts.queries.stream(f"index_records {alias}", records, checkpoint.path, function, parts.interval)

    def _logs(self) -> LogCheck:
        parts, alias, config = self._parts, self._admin.alias, self._config

        def again(ranges: OffsetRanges) -> DataFrame:
            records = read_whole_ranges(parts.spark, config, alias, ranges)
            return with_mirror_headers(records, config.mirror)

        asked = parts.asked(config, alias, again)
        origins = OriginCheck(alias, config.clusters)
        return LogCheck(alias, asked, origins, parts.incarnations)


def tell(progress: IndexProgress, what: str, *, is_begun: bool = True) -> None:
    """Log how far the index is; unless it *is_begun*, not before the end of any log is known."""
    if not (is_begun or progress.knows_ends):
        return
    now, lasted = progress.backfill(), to_duration(progress.seconds * 1000)
    left = "unknown" if now.seconds_left is None else to_duration(now.seconds_left * 1000)
    logger.info(
        "%s %s: %s records, %s records/s, %.0f%% of the records present at the start, time left %s",
        *(what, lasted, to_count(now.records), to_count(round(now.records_per_s)), 100 * now.share, left),
    )
