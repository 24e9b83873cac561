"""What status reports and moves start from: the tables, the clusters, and how far the jobs have read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from offset_sync.config import Config
from offset_sync.state.cluster_ids import with_known_ids
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.key_index import KeyRows
from offset_sync.state.moves import Moves
from offset_sync.state.new_partitions import begin_new_partitions
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.restore import follow_commits
from offset_sync.state.start_folds import StartFolds
from offset_sync.state.sync_state import SyncState
from offset_sync.status.assessment import Rows
from offset_sync.status.cluster_queries import ClusterQueries, HeldOffsets
from offset_sync.status.job_progress import CheckpointProgress, IndexCatchUp, JobProgress, RunningJobs
from offset_sync.status.record_comparison import RecordComparer
from offset_sync.status.reporter import StatusReporter
from offset_sync.tables.catalog import TABLES
from offset_sync.tables.report_tables import REPORT_TABLES
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


class LiveState:
    """What the tables and the clusters say, kept up to date from report to report.

    ``on_follow`` is called whenever commits and moves were taken in.

    *tables* are those of *config*, by Spark or without (``jobs/open_tables.py``); what lacks is created. Clusters
    *given_up* are not asked: of them only the tables are known.
    """

    def __init__(self, config: Config, tables: TableStore, given_up: Collection[str] = ()) -> None:
        began = time.monotonic()
        self.tables = tables
        self.tables.create((*TABLES, *REPORT_TABLES))
        self.state = SyncState(
            config, RecordIndex(self.tables, config.timed_topics(), memory_bytes=config.sync.index_memory)
        )
        self.clusters = ClusterQueries(config, self.state.index, tables, given_up)
        self.progress = JobProgress()
        """How far the jobs had read at the last report."""
        jobs = RunningJobs(self.tables)
        self._progress = CheckpointProgress(self.tables.files, config, self.clusters, jobs)
        # Not once: index_records may learn the clusters' ids later, and others when it begins anew.
        known = partial(with_known_ids, config, self.tables.files)
        comparer = RecordComparer(config, self.clusters, renewed=known)
        catch_up = IndexCatchUp(self.state, is_indexing=partial(jobs.is_running, "index_records"))
        self._reporter = StatusReporter(config, self.state, self.clusters, catch_up, comparer)
        self._moves = Moves(self.tables)
        self.on_follow: Callable[[], None] = lambda: None
        self._lives, folds = CommitLogLives(self.tables), StartFolds(self.tables, config)
        self._version = folds.restore_commits(self.state, self._lives)
        if given_up:  # what was withheld while the cluster answered has to stay so
            folds.restore_answers(self.state)
        logger.info(
            "read %d partitions of groups from the tables in %.1f s; asking the clusters, and reading the index",
            len(self.state.offsets.keys),
            time.monotonic() - began,
        )

    def report(self, now_ms: int, groups: Collection[str] | None = None) -> Rows:
        """Report on *groups*, or on everything."""
        self._follow()
        held = self.ask(groups)
        progress = self.refresh(now_ms)
        return self._reporter.report(self.keys_of(groups), progress, now_ms, held)

    def refresh(self, now_ms: int) -> JobProgress:
        """Bring the committed offsets up to date; return how far the jobs had read before."""
        # Asked first: what the jobs have read by then is in the tables when these are read after it.
        self.progress = progress = self._progress.read(now_ms)
        self._follow()
        return progress

    def ask(self, groups: Collection[str] | None) -> HeldOffsets:
        """Ask what the coordinators hold of *groups*, None: of all; to be called before :meth:`refresh`."""
        return self._reporter.ask(self.keys_of(groups))

    def _follow(self) -> None:
        self._version = follow_commits(self.tables, self.state, self._version, self._lives)
        self._moves.follow(self.state)
        begin_new_partitions(self.state, self._lives.topics)
        self.on_follow()

    def keys_of(self, groups: Collection[str] | None) -> KeyRows:
        """Return the rows of the committed offsets that belong to *groups*, None: all rows."""
        if groups is None:
            return self.state.all_rows()
        wanted = set(groups)
        with self.state.lock:
            keys = [row for row, key in enumerate(self.state.offsets.keys) if key.group_id in wanted]
        return np.array(keys, np.intp)
