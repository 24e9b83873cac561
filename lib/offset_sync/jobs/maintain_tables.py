"""The job ``maintain_tables``: compact the tables, apply retention to the index, delete unused files."""

from __future__ import annotations

import argparse
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.jobs.runner import open_tables
from offset_sync.kafka.cluster_admin import commit_log_ends
from offset_sync.model.errors import ClusterError, TakenOverError
from offset_sync.model.text import one_line
from offset_sync.model.values import ClusterPartition
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.incarnations import KEPT, LOG, NamedEpochs, candidates, retired_elections
from offset_sync.state.index_retention import Retention, lowest_commits, to_begins
from offset_sync.state.known_names import open_clusters
from offset_sync.state.last_known import LastKnown
from offset_sync.state.lease import Lease, held
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.seal import cut, seal
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import (
    LOG_INCARNATIONS,
    OFFSET_COMMITS,
    RECORD_RUNS,
    REPORT_TABLES,
    TABLES,
)
from offset_sync.tables.definition import Table
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.rows import partners
from offset_sync.tables.segments import PREFIX
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_DEADLINE_SECONDS = 30.0
_INTERVAL_S = 900.0
LogEnds = Callable[[str], Sequence[int | None]]


def maintain_tables(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Maintain until stopped, or with ``--once`` only once; return one line per failure."""
    with open_tables(config, "offset-sync maintain_tables") as tables:
        job = MaintainJob(config, tables, stop)
        while True:
            try:
                failures = job.run()
            except TakenOverError as problem:
                if arguments.once:
                    raise
                failures = [str(problem)]  # this pass is lost: the next one may be ours
            if arguments.once:
                return failures
            for failure in failures:
                logger.warning("%s", failure)
            if stop.wait(_INTERVAL_S):
                return []


class MaintainJob:
    """One pass over all tables; a failure affects one table or one cluster only."""

    def __init__(self, config: Config, tables: TableStore, stop: threading.Event) -> None:
        self._config, self._tables, self._stop = config, tables, stop
        self._admins = open_clusters(config)
        self._maintainer = Maintainer(tables, config.maintenance.keep_versions)
        self._others: Sequence[Table] = () if config.is_stamped else config.of_extension("maintenance").TABLES
        self._tables.create()
        plain = TableStore.of(config)  # without names: each log by its own topic
        folder = f"{config.tables.checkpoints}/sync_offsets"
        done = {alias: Checkpoint(tables.files, f"{folder}/{alias}") for alias in config.clusters}
        self._elections = RetireElections(plain, done, lambda alias: commit_log_ends(self._admins[alias]))

    def run(self) -> list[str]:
        """Maintain every table; return one line per failure. Raises TakenOverError when another pass has begun."""
        failures: list[str] = []
        with held(Lease(self._tables, "maintain_tables", threading.Event())) as lease:
            for table in (*TABLES, *self._others, *REPORT_TABLES):
                if self._stop.is_set():
                    break
                lease.renew()
                try:
                    if self._tables.is_there(table):
                        failures += self._maintain(table, lease)
                except TakenOverError:
                    raise
                except Exception as problem:  # the next pass sees the same table and tries again
                    logger.exception("%s: maintenance failed; the next pass retries", table.name)
                    failures.append(f"tables.{table.name}: {one_line(problem)}")
        return failures

    def _maintain(self, table: Table, lease: Lease) -> list[str]:
        began_at = time.monotonic()
        self._tables.repair((table,))
        before = self._maintainer.size(table)
        if table not in REPORT_TABLES:
            self._maintainer.prepare(table)
        gone, failures = self._cut(table, lease)
        if table is RECORD_RUNS:
            with _left_to_the_next_pass("record_runs was not sealed"):
                seal(self._tables, self._tables.segments(RECORD_RUNS), self._config.maintenance.keep_versions)
                self._maintainer.compact(RECORD_RUNS, but=PREFIX)
        elif not table.is_replaced and before.files > 1:
            self._maintainer.compact(table)
        self._maintainer.clean_up(table)
        after = self._maintainer.size(table)
        if before.files or after.files:
            sizes = [f"{each.files:,} files, {each.size / 2**20:,.1f} MiB" for each in (before, after)]
            took_s = time.monotonic() - began_at
            logger.info("%s: %d rows removed; %s before, %s now; %.1f s", table.name, gone, *sizes, took_s)
        return failures

    def _cut(self, table: Table, lease: Lease) -> tuple[int, list[str]]:
        """Remove rows that no answer can need; return how many, and one line per failure."""
        now = datetime.now(timezone.utc)
        if table is RECORD_RUNS:
            return self._cut_runs(lease)
        if table is LOG_INCARNATIONS:
            return self._elections.cut(self._maintainer, now), []
        if table in self._others:
            return self._config.of_extension("maintenance").retire(
                self._config, self._tables, self._maintainer, now
            ), []
        return 0, []

    def _cut_runs(self, lease: Lease) -> tuple[int, list[str]]:
        """Remove runs that no translation can need; return how many rows, and a line per unanswered cluster."""
        config, tables = self._config, TableStore.of(self._config, self._config.names)
        index = RecordIndex(tables, memory_bytes=config.sync.index_memory)
        index.refresh()
        partitions = {
            log.topic_partition
            for log in index.all_logs()
            if config.is_topic_included(log.topic) and config.strategy_of(log.topic) == "exact"
        }
        # Before the tables are read again: what is added meanwhile counts, or its partition is kept whole.
        metadata = MetadataFetcher(self._admins, _DEADLINE_SECONDS).fetch(self._admins, partitions)
        failures = list[str]()
        for each in metadata.values():
            failures += map(str, [each] if isinstance(each, ClusterError) else each.refused.values())
        if self._tables.version(OFFSET_COMMITS) == 0:
            logger.info("no commits are captured yet, so it is unknown which runs they need: no runs are removed")
            return 0, failures
        index.refresh()
        retention = Retention(index, metadata, self._lowest(index), self._old_before_ms())
        begins, reasons = retention.begins(partitions)
        for reason, count in sorted(reasons.items()):
            logger.info("no runs of %d partitions are removed: %s", count, reason)
        lease.renew()
        gone = 0
        with _left_to_the_next_pass("no runs were removed"):
            gone = cut(TableStore.of(config), to_begins(begins, config.names), config.maintenance.keep_versions)
        return gone, failures

    def _lowest(self, index: RecordIndex) -> dict[ClusterPartition, int]:
        """Return the lowest offset that a group holds of each log now."""
        state = SyncState(self._config, index)
        incarnations = CommitLogIncarnations(self._tables, self._config.polled())
        LastKnown(self._tables, self._config).restore_commits(state, incarnations)
        return lowest_commits(state.offsets, self._config.is_group_included)

    def _old_before_ms(self) -> int:
        keep = max(self._config.maintenance.keep_runs, self._config.sync.hole_grace)
        return int((time.time() - keep.total_seconds()) * 1000)


@contextmanager
def _left_to_the_next_pass(what: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as problem:  # index_records may seal at this moment
        logger.warning("%s, the next pass retries: %s", what, problem)


class RetireElections:
    """Removes rows of elections from *tables*; *checkpoints* of ``sync_offsets`` tell how far each cluster is read.

    *log_ends* returns the log end of each partition of a cluster's ``__consumer_offsets``, None without an answer; it
    raises ClusterError. On a busy cluster some commit is always unread, so the checkpoint gets *patience_s* to reach
    the ends that it returned.
    """

    def __init__(
        self, tables: TableStore, checkpoints: Mapping[str, Checkpoint], log_ends: LogEnds, patience_s: float = 5.0
    ) -> None:
        self._tables, self._checkpoints, self._log_ends = tables, checkpoints, log_ends
        self._patience_s = patience_s

    def cut(self, maintainer: Maintainer, now: datetime) -> int:
        """Remove the rows that no commit needs at *now*; return how many. Nothing if there are too few."""
        rows, old_before = self._tables.all_rows(LOG_INCARNATIONS), now - KEPT
        due = candidates(rows, old_before)
        # Commits below a checkpoint are in the tables, so these are read afterwards.
        read = {alias for alias in due if self._is_read(alias)}
        if not read:
            return 0
        retired = retired_elections(rows, self._named(), old_before, read)
        if retired.num_rows == 0:
            return 0
        key = [*LOG, "leader_epoch", "noticed_at", "reason"]
        return maintainer.remove(LOG_INCARNATIONS, lambda found: partners(found, retired, key) >= 0)

    def _is_read(self, alias: str) -> bool:
        """Return whether ``offset_commits`` has all commits of a cluster's groups until now; errs to False."""
        if alias not in self._checkpoints:  # no longer configured
            return False
        before = self._checkpoints[alias].position()
        try:
            ends = self._log_ends(alias)
        except ClusterError as error:
            logger.info("rows of elections are kept: %s", error)
            return False
        # An end below the position before: the log was truncated or recreated.
        is_same = bool(ends) and all(end is not None and end >= before.get(at, 0) for at, end in enumerate(ends))
        time.sleep(self._patience_s)
        now = self._checkpoints[alias].position()
        is_read = is_same and all(now.get(at, 0) >= (end or 0) for at, end in enumerate(ends))
        if not is_read:
            logger.info("clusters.%s: rows of elections are kept: sync_offsets has not read all commits there", alias)
        return is_read

    def _named(self) -> NamedEpochs:
        """Return the highest offset that any group committed under each epoch."""
        found, by = [NamedEpochs.schema.empty_table()], [*LOG, "leader_epoch"]
        for rows in self._tables.batches(OFFSET_COMMITS, NamedEpochs.schema.names):
            named = rows.filter(pc.and_(rows["leader_epoch"].is_valid(), rows["committed_offset"].is_valid()))
            highest = named.group_by(by, use_threads=False).aggregate([("committed_offset", "max")])
            found.append(highest.rename_columns([*by, "committed_offset"]).cast(NamedEpochs.schema))
        return NamedEpochs(pa.concat_tables(found))
