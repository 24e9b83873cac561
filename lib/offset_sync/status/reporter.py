"""The status of every group between every two clusters: from the tables and both clusters' ends to sync_status."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, ClusterPartition, Status, TopicPartition
from offset_sync.state.coordinators import coordinator_hashes
from offset_sync.state.key_index import KeyRows
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints
from offset_sync.state.snapshot import Commits, MetadataByCluster, Snapshot, frontiers
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Translator
from offset_sync.status.assess import Assessor
from offset_sync.status.assessment import Assessment, Bools
from offset_sync.status.classify import classify, needs_comparison
from offset_sync.status.mirror_maker import with_doubts
from offset_sync.status.record_comparison import RecordPair
from offset_sync.status.rows import Rows, joined_rows, to_columns
from offset_sync.status.staleness import ReportStaleness
from offset_sync.status.stream_lag import JobProgress
from offset_sync.sync.reconciliation import Fetcher
from offset_sync.translate.index.runs import Int64s


class AskedClusters(Fetcher, Protocol):
    """What a report asks of the clusters, as :class:`ClusterQueries` does."""

    def active_groups(self, alias: str) -> Collection[str] | ClusterError:
        """Return the groups of a cluster that have members now."""

    def mirror_checkpoints(self, aliases: Collection[str]) -> Mapping[str, MirrorCheckpoints]:
        """Return what MirrorMaker has said by now at each cluster where it says anything."""


class CatchUp(Protocol):
    """Brings the index up to the ends that the clusters have named, as :class:`IndexCatchUp` does."""

    def wait(self, metadata: MetadataByCluster) -> None:
        """Return when the index has read that far, or when it has been waited for long enough."""


class Comparer(Protocol):
    """Compares the next records of both sides, as :class:`RecordComparer` does."""

    def compare(self, pairs: Collection[RecordPair]) -> Mapping[RecordPair, str | None]:
        """Return for each pair None where the records are the same, else in what they differ."""


@dataclass(frozen=True)
class ReportContext:
    """What a report knows beside the logs: the target's groups with members, how far the jobs have read, the time."""

    active_groups: Collection[str] | ClusterError
    progress: JobProgress
    now_ms: int


class StatusReporter:
    """Reports on the commits in *state*; its lock is not held while clusters are asked."""

    def __init__(
        self, config: Config, state: SyncState, clusters: AskedClusters, catch_up: CatchUp, comparer: Comparer
    ) -> None:
        self._config, self._state = config, state
        self._clusters, self._catch_up, self._comparer = clusters, catch_up, comparer
        self._translator = Translator(config, state)
        self._assessor = Assessor(config, state, self._translator)
        self._staleness = {pair: ReportStaleness() for pair in config.pairs()}
        self._hashes: Int64s = np.empty(0, np.int64)

    def report_all(self, progress: JobProgress, now_ms: int) -> Rows:
        """Report on every key; see :meth:`report_keys`."""
        return self.report_keys(self._state.all_rows(), progress, now_ms)

    def report_keys(self, keys: KeyRows, progress: JobProgress, now_ms: int) -> Rows:
        """Return a row for each of *keys* that a cluster owns, and for every cluster that it is translated to.

        A report is of the moment at which the clusters are asked for their ends. A group that was in sync then stays
        so while it does not read: all that it had read was at the target below its position, and what comes after
        that moment is unread on both sides. *progress* was asked before the commits were brought up to date, so
        *state* has what it calls read.
        """
        self._state.index.refresh()
        rows: list[Rows] = []
        for target in dict.fromkeys(target for _, target in self._staleness):
            commits, partitions, known_to = self._commits_for(target, keys)
            if not partitions:
                continue
            metadata = self._clusters.fetch([target, *commits], partitions)
            context = ReportContext(self._clusters.active_groups(target), progress, now_ms)
            self._catch_up.wait(metadata)
            said = self._clusters.mirror_checkpoints([each for each in metadata if not _is_silent(metadata, each)])
            snapshot = Snapshot(metadata, known_to, checkpoints=said)
            for source, each in commits.items():
                rows.append(to_columns(self._assess(source, target, each, snapshot, context), self._config.names))
        return joined_rows(rows)

    def _commits_for(
        self, target: str, keys: KeyRows
    ) -> tuple[dict[str, Commits], set[TopicPartition], Mapping[ClusterPartition, int]]:
        """Return the commits that count at *target*, by source; their partitions; and how far these are indexed."""
        state = self._state
        with state.lock:
            owned = state.owned_rows(target, keys)
            commits = {source: state.commits(source, rows) for source, rows in owned.items() if len(rows)}
            partitions = {each for one in commits.values() for each in state.keys.partitions_of(one.key)}
            return commits, partitions, frontiers(self._state.index, [target, *commits], partitions)

    def _assess(
        self, source: str, target: str, commits: Commits, snapshot: Snapshot, context: ReportContext
    ) -> Assessment:
        measured = self._assessor.assess(source, target, commits, snapshot, context.now_ms)
        current = self._with_doubts(self._with_present(measured, context), snapshot.checkpoints)
        classified = classify(current, to_ms(self._config.status.stalled_after))
        return self._with_comparison(classified)

    def _with_present(self, assessment: Assessment, context: ReportContext) -> Assessment:
        """Add what clusters and jobs say at this moment."""
        pair, key, now_ms = (assessment.source, assessment.target), assessment.key, context.now_ms
        staleness, progress, active = self._staleness[pair], context.progress, context.active_groups
        is_known, count = not isinstance(active, ClusterError), len(key)
        members = frozenset[str]() if isinstance(active, ClusterError) else active
        unread_commits, are_commits_known = self._unread_commits(assessment, progress)
        is_behind = ~assessment.holds_translation & ~assessment.is_withheld
        position = np.where(assessment.has_target_offset, assessment.target_offset, ABSENT)
        age_ms = np.maximum(now_ms - assessment.pending_since_ms, 0)
        is_unindexed, still_ms = assessment.unindexed > 0, progress.index_still_ms(*pair)
        return replace(
            assessment,
            is_activity_known=np.full(count, is_known),
            is_target_active=np.array([group_id in members for group_id, _, _ in assessment.keys], np.bool_),
            unread_commits=unread_commits,
            are_commits_known=are_commits_known,
            held_back=progress.held_back(self._config.clusters, assessment.keys),
            staleness_ms=staleness.behind_ms(key, is_behind, assessment.committed_at_ms, position, now_ms),
            mirror_lag_ms=np.where(assessment.mirror_lag > 0, age_ms, 0),
            sync_silent_ms=np.full(count, progress.sync_silent_ms(*pair)),
            index_silent_ms=staleness.waiting_ms(key, is_unindexed, still_ms, now_ms),
        )

    def _with_doubts(self, assessment: Assessment, checkpoints: Mapping[str, MirrorCheckpoints]) -> Assessment:
        """Say where the commit that counts may be one of MirrorMaker's, so that another cluster may be the owner."""
        with self._state.lock:
            epoch = self._state.offsets.clusters[assessment.source].position_epoch(assessment.key)
        return with_doubts(assessment, checkpoints.get(assessment.source), epoch)

    def _unread_commits(self, assessment: Assessment, progress: JobProgress) -> tuple[Int64s, Bools]:
        """Return how many unread commits may concern each group, and whether that is known.

        At all clusters, for the group may have moved to a third one; but one that does not answer is not waited for.
        """
        keys = self._state.offsets.keys
        if len(keys) > len(self._hashes):
            hashes = coordinator_hashes([group_id for group_id, _, _ in keys[len(self._hashes) :]])
            self._hashes = np.concatenate((self._hashes, hashes))
        of_groups = self._hashes[assessment.key]
        asked = {alias: progress.unread_commits(alias, of_groups) for alias in self._config.clusters}
        unread: Int64s = np.sum([count for count, _ in asked.values()], axis=0)
        are_known: Bools = asked[assessment.source][1] & asked[assessment.target][1]
        return unread, are_known

    def _with_comparison(self, assessment: Assessment) -> Assessment:
        """Compare the next records of the rows that would be in sync; where they differ the row is not."""
        pairs = {}
        for row in np.flatnonzero(needs_comparison(assessment)).tolist():
            _, topic, partition = assessment.keys[row]
            source_offset, target_offset = int(assessment.source_offset[row]), int(assessment.target_offset[row])
            topic_partition = TopicPartition(topic, partition)
            pairs[row] = RecordPair(assessment.source, assessment.target, topic_partition, source_offset, target_offset)
        if not pairs:
            return assessment
        differences = self._comparer.compare(list(dict.fromkeys(pairs.values())))
        status, reason = assessment.status.copy(), assessment.reason.copy()
        for row, pair in pairs.items():
            difference = differences[pair]
            if difference is not None:
                status[row], reason[row] = Status.MIRRORING, difference
        return replace(assessment, status=status, reason=reason)


def _is_silent(metadata: MetadataByCluster, alias: str) -> bool:
    return isinstance(metadata[alias], ClusterError)
