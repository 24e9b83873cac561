"""What status reports and moves stand on: the tables, the clusters, and how far the jobs have read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from pyspark.sql import SparkSession

from offset_sync.config import Config
from offset_sync.ingest.kafka_source import CONSUMER_OFFSETS
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.group_members import GroupStates
from offset_sync.kafka.record_reader import RecordReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.restore import follow_commits, restore_commits
from offset_sync.state.snapshot import MetadataByCluster
from offset_sync.state.sync_state import SyncState
from offset_sync.status.index_catch_up import CatchUp
from offset_sync.status.job_progress import JobProgress
from offset_sync.status.record_comparison import RecordComparer
from offset_sync.status.reporter import StatusReporter
from offset_sync.status.rows import Rows
from offset_sync.status.stream_lag import Streams
from offset_sync.tables.catalog import OFFSET_COMMITS, TABLES
from offset_sync.tables.report_tables import REPORT_TABLES
from offset_sync.tables.store import TableStore

_PATIENCE_S = 5.0


class LiveState:
    """What the tables and the clusters say, kept up to date from report to report.

    Clusters *given_up* are not asked: of them is known what the tables say.
    """

    def __init__(self, config: Config, spark: SparkSession, given_up: Collection[str] = ()) -> None:
        self._given_up = {alias: ClusterError(alias, "given up, so it is not asked") for alias in given_up}
        self.tables = TableStore(spark, config.tables.root)
        self.tables.create((*TABLES, *REPORT_TABLES))
        self.admins = {alias: ClusterAdmin(alias, config.admin_options(alias)) for alias in config.clusters}
        self.states = {alias: GroupStates(alias, config.admin_options(alias)) for alias in config.clusters}
        self.readers = {alias: RecordReader(alias, config.admin_options(alias)) for alias in config.clusters}
        self._survey = MetadataFetcher(self.admins)
        self._progress = JobProgress(spark, config, self._log_ends)
        self.index = RecordIndex(self.tables, config.is_timed)
        self.state = SyncState(config, self.index)
        self.lock, self.book = self.state.lock, self.state.offsets
        self.reporter = StatusReporter(
            config,
            self.state,
            self.fetch,
            self.active_groups,
            RecordComparer(config, self._read_at),
            CatchUp(self.index, self.lock, _PATIENCE_S),
        )
        self._version = self.tables.version(OFFSET_COMMITS)
        restore_commits(self.tables, self.state)

    def report(self, now_ms: int, keys: Callable[[CommittedOffsets], KeyRows] | None = None) -> Rows:
        """Look at everything, or at the *keys* chosen once the book is up to date."""
        streams = self.refresh(now_ms)
        return self.reporter.report(now_ms, streams, keys(self.book) if keys is not None else None)

    def refresh(self, now_ms: int) -> Streams:
        """Bring the book up to date; return how far the jobs had read before."""
        # Asked first: what is read by then is in the tables that are looked at after it.
        streams = self._progress.streams(now_ms)
        self._version = follow_commits(self.tables, self.state, self._version)
        return streams

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> MetadataByCluster:
        """Return what each cluster says of *partitions*, or why it says nothing."""
        asked = [alias for alias in aliases if alias not in self._given_up]
        silent = {alias: error for alias, error in self._given_up.items() if alias in aliases}
        return {**silent, **self._survey.fetch(asked, partitions)}

    def active_groups(self, alias: str) -> Collection[str] | ClusterError:
        """Return the groups of a cluster that have members now."""
        return self._given_up.get(alias) or self.states[alias].active()

    def _log_ends(self, alias: str) -> Sequence[int | None] | ClusterError:
        if alias in self._given_up:
            return self._given_up[alias]
        try:
            count = self.admins[alias].partition_count(CONSUMER_OFFSETS, _PATIENCE_S) or 0
            places = [TopicPartition(CONSUMER_OFFSETS, number) for number in range(count)]
            found = self.admins[alias].ends(places, _PATIENCE_S)
            return [found[place].log_end if place in found else None for place in places]
        except ClusterError as error:
            return error

    def _read_at(
        self, alias: str, places: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, RecordContent] | ClusterError:
        return self._given_up.get(alias) or self.readers[alias].first_at(places)
