"""Translates and measures the commits of one pair of clusters; an unchanged partition is not measured again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.snapshot import Commits, Snapshot
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Translator
from offset_sync.status.assessment import Assessment, Bools
from offset_sync.status.log_comparison import NO_END, LogComparison, LogPair, compare_logs
from offset_sync.status.measure import has_log_end, log_end, measure
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.strategies import is_stamped


class _PairPartition(NamedTuple):
    """A partition between two clusters."""

    source: str
    target: str
    topic_partition: TopicPartition


@dataclass(frozen=True)
class _Remembered:
    """The assessment of a partition, and what it was made from."""

    version: Hashable
    assessment: Assessment


@dataclass(frozen=True)
class _Pair:
    """What is the same for all partitions of a pair of clusters."""

    source: str
    target: str
    snapshot: Snapshot
    now_ms: int
    origin_names: Mapping[int, str]


class Assessor:
    """Assesses the commits in *state*."""

    def __init__(self, config: Config, state: SyncState, translator: Translator) -> None:
        self._config = config
        self._state = state
        self._translator = translator
        self._comparisons: dict[_PairPartition, tuple[Hashable, LogComparison]] = {}
        self._remembered: dict[_PairPartition, _Remembered] = {}

    def assess(self, source: str, target: str, commits: Commits, snapshot: Snapshot, now_ms: int) -> Assessment:
        """Translate *source*'s *commits*, of which there is at least one, and measure what they cost at *target*."""
        with self._state.lock:
            return self._assess(source, target, commits, snapshot, now_ms)

    def _assess(self, source: str, target: str, commits: Commits, snapshot: Snapshot, now_ms: int) -> Assessment:
        offsets, index = self._state.offsets, self._state.index
        column = offsets.clusters[target].columns
        has_target_offset = ~column["is_deleted"][commits.key] & (column["actual_offset"][commits.key] >= 0)
        target_offset = np.where(has_target_offset, column["actual_offset"][commits.key], 0)
        origin_names = {index.code(alias): alias for alias in self._config.clusters}
        pair = _Pair(source, target, snapshot, now_ms, origin_names)
        parts = []
        for topic_partition, rows in self._state.keys.slices(commits.key):
            part = Commits(commits.key[rows], commits.offset[rows], commits.at_ms[rows])
            position = target_offset[rows], has_target_offset[rows]
            parts.append(self._assess_partition(pair, topic_partition, part, *position))
        return replace(
            Assessment.joined(parts),
            source=source,
            target=target,
            keys=[offsets.keys[key] for key in commits.key.tolist()],
            committed_at_ms=commits.at_ms,
        )

    def _assess_partition(
        self,
        pair: _Pair,
        topic_partition: TopicPartition,
        commits: Commits,
        target_offset: Int64s,
        has_target_offset: Bools,
    ) -> Assessment:
        where = _PairPartition(pair.source, pair.target, topic_partition)
        logs = self._log_pair(pair, topic_partition)
        topic_id = self._state.offsets.clusters[pair.source].topic_id
        version = (
            logs.version(),
            self._metadata_version(pair.source, topic_partition, logs.source_metadata),
            self._metadata_version(pair.target, topic_partition, logs.target_metadata),
            *(each.tobytes() for each in (commits.key, commits.offset, target_offset, has_target_offset)),
            tuple(topic_id.get(key) for key in commits.key.tolist()),
            self._epochs_version(pair, topic_partition, commits),
        )
        remembered = self._remembered.get(where)
        if remembered is not None and remembered.version == version:
            return remembered.assessment
        last = self._state.last(pair.source, pair.target)
        answers = self._translator.translate(last, pair.source, pair.target, commits, pair.snapshot, pair.now_ms)
        comparison = self._comparison(where, logs)
        assessment = measure(logs, comparison, commits, answers, target_offset, has_target_offset)
        # With time alone, records become too old to be still on their way, and topics become idle.
        if not comparison.is_settling and self._config.strategy_of(topic_partition.topic) == "exact":
            self._remembered[where] = _Remembered(version, assessment)
        return assessment

    def _log_pair(self, pair: _Pair, topic_partition: TopicPartition) -> LogPair:
        index, topic, partition = self._state.index, topic_partition.topic, topic_partition.partition
        source_metadata = self._translator.view(pair.source, topic_partition, pair.snapshot)
        target_metadata = self._translator.view(pair.target, topic_partition, pair.snapshot)
        logs = LogPair(
            source_origin=index.code(pair.source),
            target_origin=index.code(pair.target),
            source=LogPair.log_or_empty(index.log(pair.source, topic, partition), source_metadata),
            target=LogPair.log_or_empty(index.log(pair.target, topic, partition), target_metadata),
            source_metadata=source_metadata,
            target_metadata=target_metadata,
            origin_names=pair.origin_names,
            young_since_ms=self._translator.young_since_ms(pair.now_ms),
            unread_since_ms=self._translator.unread_since_ms(pair.source, topic_partition, pair.snapshot, pair.now_ms),
            share_since_ms=pair.now_ms - to_ms(self._config.status.shape_window),
            # The index reads on while a report is made; without a limit a busy topic would always have pending records.
            snapshot_end=log_end(source_metadata) if has_log_end(source_metadata) else NO_END,
        )
        is_told_apart = not self._config.is_timed(topic) or _are_stamped(logs)
        return logs if is_told_apart else replace(logs, is_unstamped=True)

    def _comparison(self, where: _PairPartition, logs: LogPair) -> LogComparison:
        """Compare the logs of a partition, where either has grown since they were compared last."""
        known = self._comparisons.get(where)
        if known is None or known[0] != logs.version() or known[1].is_settling:
            known = self._comparisons[where] = logs.version(), compare_logs(logs)
        return known[1]

    def _epochs_version(self, pair: _Pair, topic_partition: TopicPartition, commits: Commits) -> Hashable:
        """Return what changes when another leader's records are known to have ended below a commit."""
        ends = self._state.index.epoch_ends(ClusterPartition(pair.source, *topic_partition))
        epochs = self._state.offsets.clusters[pair.source].columns["genuine_epoch"][commits.key]
        return (*ends, *pair.snapshot.epoch_end(pair.source, topic_partition), epochs.tobytes())

    def _metadata_version(
        self, alias: str, topic_partition: TopicPartition, metadata: PartitionMetadata | None
    ) -> Hashable:
        """Return what changes when a cluster says something else of a partition, or the index of its topic does."""
        index, topic = self._state.index, topic_partition.topic
        indexed = frozenset(index.topic_ids(alias, topic)), index.partitions(alias, topic)
        if metadata is None:
            return indexed
        said = (metadata.is_refused, metadata.topic_id, metadata.partitions, metadata.log_start, metadata.log_end)
        return indexed, *said


def _are_stamped(logs: LogPair) -> bool:
    return is_stamped(PartitionLog(logs.source, logs.source_origin), PartitionLog(logs.target, logs.target_origin))
