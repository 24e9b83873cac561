"""The job ``maintain_tables``: compact the tables, apply retention to the index, delete unused files."""

from __future__ import annotations

import argparse
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.jobs.runner import open_tables
from offset_sync.kafka.cluster_admin import ClusterAdmin, commit_log_ends
from offset_sync.model.errors import ClusterError, TakenOverError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import MetadataByCluster, MetadataFetcher
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
    ELECTED,
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
_POLL_S = 0.1
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
        folder = f"{config.tables.checkpoints}/sync_offsets"
        done = {alias: Checkpoint(self._tables.files, f"{folder}/{alias}") for alias in config.clusters}
        plain = TableStore.of(config)  # without names: each log by its own topic
        self._elections = RetireElections(plain, done, lambda alias: commit_log_ends(self._admins[alias]))

    def run(self) -> list[str]:
        """Maintain every table; return one line per failure. Raises TakenOverError when another pass has begun."""
        with held(Lease(self._tables, "maintain_tables", threading.Event())) as lease:
            return self._run(lease)

    def _run(self, lease: Lease) -> list[str]:
        failures: list[str] = []
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
                reason = next(iter(str(problem).splitlines()), type(problem).__name__)
                failures.append(f"tables.{table.name}: {reason}")
        return failures

    def _maintain(self, table: Table, lease: Lease) -> list[str]:
        began_at = time.monotonic()
        self._tables.repair((table,))
        before, gone, failures = self._maintainer.size(table), 0, list[str]()
        if table in (*TABLES, *self._others):
            self._maintainer.prepare(table)
        if table is RECORD_RUNS:
            gone, failures = self._cut_runs(lease)
        if table in self._others:
            retire = self._config.of_extension("maintenance").retire
            gone = retire(self._config, self._tables, self._maintainer, datetime.now(timezone.utc))
        if table is LOG_INCARNATIONS:
            gone = self._elections.cut(self._maintainer, datetime.now(timezone.utc))
        if table is RECORD_RUNS:
            with _left_to_the_next_pass("record_runs was not sealed"):
                seal(self._tables, self._tables.segments(RECORD_RUNS), self._config.maintenance.keep_versions)
                self._maintainer.compact(RECORD_RUNS, but=PREFIX)
        elif not table.is_replaced and before.files > 1:
            self._maintainer.compact(table)
        self._maintainer.clean_up(table)
        after = self._maintainer.size(table)
        if not before.files and not after.files:
            return failures
        logger.info(
            "%s: %d rows removed; %d files of %.1f MiB are now %d of %.1f MiB; %.1f s",
            table.name,
            gone,
            before.files,
            before.size / 2**20,
            after.files,
            after.size / 2**20,
            time.monotonic() - began_at,
        )
        return failures

    def _cut_runs(self, lease: Lease) -> tuple[int, list[str]]:
        """Remove runs that no translation can need; return how many rows, and a line per unanswered cluster."""
        metadata = fetch_metadata(self._config, self._admins)
        failures = list[str]()
        for each in metadata.values():
            failures += map(str, [each] if isinstance(each, ClusterError) else each.refused.values())
        if self._tables.version(OFFSET_COMMITS) == 0:
            logger.info("no commits are captured yet, so it is unknown which runs they need: no runs are removed")
            return 0, failures
        begins, gone = self._begins(metadata), 0
        lease.renew()
        with _left_to_the_next_pass("no runs were removed"):
            gone = cut(TableStore.of(self._config), begins, self._config.maintenance.keep_versions)
        return gone, failures

    def _begins(self, metadata: MetadataByCluster) -> pa.Table:
        """Return where the index of each partition may begin; *metadata* is older than the tables read here."""
        tables = TableStore.of(self._config, self._config.names)
        index = RecordIndex(tables, memory_bytes=self._config.sync.index_memory)
        index.refresh()
        state = SyncState(self._config, index)
        LastKnown(self._tables, self._config).restore_commits(
            state, CommitLogIncarnations(self._tables, self._config.polled())
        )
        keep = max(self._config.maintenance.keep_runs, self._config.sync.hole_grace)
        old_before_ms = int((time.time() - keep.total_seconds()) * 1000)
        lowest = lowest_commits(state.offsets, self._config.is_group_included)
        retention = Retention(index, metadata, lowest, old_before_ms)
        logs = index.all_logs()
        partitions = {each.topic_partition for each in logs if self._config.strategy_of(each.topic) == "exact"}
        for reason, count in sorted(retention.reasons(partitions).items()):
            logger.info("no runs of %d partitions are removed: %s", count, reason)
        return to_begins(retention.begins(partitions), self._config.names)


@contextmanager
def _left_to_the_next_pass(what: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as problem:  # index_records may seal at this moment
        logger.warning("%s, the next pass retries: %s", what, problem)


def fetch_metadata(config: Config, admins: Mapping[str, ClusterAdmin]) -> MetadataByCluster:
    """Return each cluster's metadata of every partition of the included topics, or its error.

    Topics named in the configuration are requested even if not listed: lists omit topics that may not be described.
    """
    topics = dict.fromkeys(config.named_topics(), 1)
    errors: dict[str, ClusterError] = {}
    for alias, admin in admins.items():
        try:
            found = admin.topics(_DEADLINE_SECONDS)
        except ClusterError as error:
            errors[alias] = error
            continue
        for name, info in found.items():
            if config.is_topic_included(name):
                topics[name] = max(topics.get(name, 0), info.partitions)
    partitions = [TopicPartition(name, number) for name, count in topics.items() for number in range(count)]
    answering = [alias for alias in admins if alias not in errors]
    return {**errors, **MetadataFetcher(admins, _DEADLINE_SECONDS).fetch(answering, partitions)}


class RetireElections:
    """Removes rows of elections from *tables*; *checkpoints* of ``sync_offsets`` tell how far each cluster is read.

    *log_ends* returns the log end of each partition of a cluster's ``__consumer_offsets``, None without an answer; it
    raises ClusterError. On a busy cluster some commit is always unread, so *patience_s* are waited for the ends that it
    returned.
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
        return maintainer.remove(LOG_INCARNATIONS, lambda found: _is_marked(found, retired))

    def _is_read(self, alias: str) -> bool:
        """Return whether ``offset_commits`` has all commits of a cluster's groups until now; errs to False."""
        checkpoint = self._checkpoints.get(alias)
        if checkpoint is None:  # a cluster no longer configured
            return False
        before = checkpoint.position()
        try:
            ends = self._log_ends(alias)
        except ClusterError as error:
            logger.info("rows of elections are kept: %s", error)
            return False
        if _is_other_log(before, ends):
            return False
        until = time.monotonic() + self._patience_s
        while not (is_read := _reaches(checkpoint.position(), ends)) and time.monotonic() < until:
            time.sleep(_POLL_S)
        if not is_read:
            logger.info("clusters.%s: rows of elections are kept: sync_offsets has not read all commits there", alias)
        return is_read

    def _named(self) -> NamedEpochs:
        """Return the highest offset that any group committed under each epoch."""
        found = NamedEpochs.schema.empty_table()
        highest = [("committed_offset", "max")]
        by = [*LOG, "leader_epoch"]
        for rows in self._tables.batches(OFFSET_COMMITS, NamedEpochs.schema.names):
            named = rows.filter(pc.and_(rows["leader_epoch"].is_valid(), rows["committed_offset"].is_valid()))
            both = pa.concat_tables([found, named.select(NamedEpochs.schema.names).cast(NamedEpochs.schema)])
            grouped = both.group_by(by, use_threads=False).aggregate(highest)
            found = grouped.rename_columns([*by, "committed_offset"]).select(NamedEpochs.schema.names)
        return NamedEpochs(found)


def _is_other_log(position: Mapping[int, int], ends: Sequence[int | None]) -> bool:
    """Return whether some log ends below the position read before: it was truncated or recreated."""
    return any(end is not None and end < position.get(number, 0) for number, end in enumerate(ends))


def _reaches(position: Mapping[int, int], ends: Sequence[int | None]) -> bool:
    """Return whether each log was read to its end; False for one without a leader."""
    return bool(ends) and all(end is not None and position.get(number, 0) >= end for number, end in enumerate(ends))


def _is_marked(rows: pa.Table, retired: pa.Table) -> NDArray[np.bool_]:
    """Return which *rows* of the table are of a *retired* election."""
    is_retired = partners(rows, retired, [*LOG, "leader_epoch", "noticed_at"]) >= 0
    found: NDArray[np.bool_] = is_retired & pc.equal(rows.column("reason"), ELECTED).fill_null(False).to_numpy()
    return found
