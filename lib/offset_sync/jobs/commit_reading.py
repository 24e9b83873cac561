"""What ``sync_offsets`` needs to read the commits of each cluster, beside the query itself."""

from __future__ import annotations

from collections.abc import Mapping

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.log_rows import CommitRecords
from offset_sync.kafka.cluster_admin import DEADLINE_S, ClusterAdmin
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.highest_indexed import highest_captured
from offset_sync.tables.store import TableStore


class CommitReading:
    """The parts for every cluster of *config*; what they note goes to the tables *seen*.

    They are kept when a query fails and is started again: they know what the batch in hand has already done.
    """

    def __init__(
        self,
        config: Config,
        seen: TableStore,
        admins: Mapping[str, ClusterAdmin],
        checkpoints: Mapping[str, Checkpoint],
    ) -> None:
        self.lives = lives = CommitLogLives(seen)
        options = {alias: config.admin_options(alias) for alias in config.clusters}
        self.commits = {alias: CommitRecords(alias, each) for alias, each in options.items()}
        # One for each cluster: no cluster waits for another that is slow to answer.
        self._incarnations = {
            a: IncarnationCheck(
                seen, {a: LeaderEpochs(a, each)}, lambda: highest_captured(seen, lives), of_commits=True
            )
            for a, each in options.items()
        }
        self.ingesters = dict[str, CommitIngester]()
        for alias, checkpoint in checkpoints.items():
            asked = MetadataFetcher({alias: admins[alias]}, DEADLINE_S)
            logs = CommitLogCheck(alias, checkpoint, asked, self._incarnations[alias])
            most = config.sync.max_offsets_per_trigger
            reading = Reading(logs, lives, config.names, most)
            self.ingesters[alias] = CommitIngester(alias, seen, checkpoint, self.commits[alias], len(options), reading)

    def begin_after(self, captured_ms: int) -> None:
        """Have lives of logs begin after the last row that was written by the drivers before."""
        for incarnations in self._incarnations.values():
            incarnations.begin_after(captured_ms)
