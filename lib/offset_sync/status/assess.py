"""Translates and measures the commits of one pair of clusters; an unchanged partition is not measured again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.reasons import Reason
from offset_sync.model.values import ABSENT, ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import Commits, SyncState
from offset_sync.state.translator import Pair, Translation, Translator
from offset_sync.status.assessment import Assessment
from offset_sync.status.cluster_queries import HeldOffsets
from offset_sync.status.measure import (
    NO_END,
    LogComparison,
    LogPair,
    compare_logs,
    log_end,
    measure,
    readable_from,
)
from offset_sync.sync.crossings import Crossings, are_named
from offset_sync.sync.held_lists import listed
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.read_list import count_listed, encode_read_list
from offset_sync.translate.strategies import is_stamped

_ANY_ID = "x" * 22
"""A placeholder as long as a cluster's id."""
_TRIES = 3
"""How often a partition is assessed without the lock before it is assessed with it."""
_SHAPE_WINDOW_MS = 3_600_000
"""The producing clusters of a topic are those of the records of the last hour."""


_Where = tuple[str, str, TopicPartition]
"""A partition between two clusters: source, target and place."""


class _Positions(NamedTuple):
    """Commits of one partition at the source, and of their groups, in order, the offsets at the target (ABSENT: none)
    and the read lists at the source (``""``: none; None: not known).
    """

    commits: Commits
    target_offset: Int64s
    lists: Sequence[str | None]


@dataclass(frozen=True)
class _Asked:
    """A partition to assess: *logs* are immutable views.

    *compared* is the version of the inputs of their comparison, *version* that of all inputs.
    """

    where: _Where
    logs: LogPair
    compared: Hashable
    version: Hashable
    translation: Translation
    basis: Hashable
    crossings: Crossings


class Assessor:
    """Assesses the commits in *state*, whose lock is not held while logs are read and compared.

    Results are valid for the logs as of their views. If the answers' basis has changed since, by a late record or a new
    incarnation of a log, the partition is assessed again; after a few tries with the lock held.
    """

    def __init__(self, config: Config, state: SyncState, translator: Translator) -> None:
        self._config = config
        self._state = state
        self._translator = translator
        self._comparisons: dict[_Where, tuple[Hashable, LogComparison]] = {}
        self._remembered: dict[_Where, tuple[Hashable, Assessment]] = {}
        self._is_named = cache(config.has_read_list)

    def assess(
        self, source: str, target: str, commits: Commits, snapshot: Snapshot, now_ms: int, held: HeldOffsets
    ) -> Assessment:
        """Translate *source*'s *commits*, at least one, and measure what they cost at *target*.

        Where *held* has no answer of the target's coordinator, by the captured offset.
        """
        offsets = self._state.offsets
        with self._state.lock:
            column = offsets.clusters[target].columns
            is_captured = ~column["is_deleted"][commits.key] & (column["actual_offset"][commits.key] >= 0)
            captured = np.where(is_captured, column["actual_offset"][commits.key], ABSENT)
            keys = [offsets.keys[key] for key in commits.key.tolist()]
            places = list(self._state.keys.slices(commits.key))
            pair = Pair(self._state.last(source, target), source, target, snapshot, now_ms)
        there = held.at_target(target, keys)
        target_offset = np.where(there.is_known, there.offset, captured)
        lists = [held.list_at(source, each) if self._is_named(each.group_id) else "" for each in keys]
        parts = []
        for place, rows in places:
            positions = _Positions(commits.take(rows), target_offset[rows], lists[rows])
            parts.append(self._assess_partition(pair, place, positions))
        joined = Assessment.joined(parts)
        return replace(joined, source=source, target=target, keys=keys, committed_at_ms=commits.at_ms)

    def _assess_partition(self, pair: Pair, place: TopicPartition, positions: _Positions) -> Assessment:
        for _ in range(_TRIES):
            asked = self._ask(pair, place, positions)
            if isinstance(asked, Assessment):
                return asked
            comparison, assessment = self._measured(asked, positions)
            with self._state.lock:
                if self._translator.basis(pair, place) == asked.basis:
                    self._keep(asked, comparison, assessment)
                    return assessment
        with self._state.lock:
            asked = self._ask(pair, place, positions)
            return asked if isinstance(asked, Assessment) else self._measured(asked, positions)[1]

    def _ask(self, pair: Pair, place: TopicPartition, positions: _Positions) -> _Asked | Assessment:
        """Return the partition with its logs as they are now; or the previous assessment if nothing has changed."""
        with self._state.lock:
            where, commits = (pair.source, pair.target, place), positions.commits
            logs = self._log_pair(pair, place)
            log_version = self._log_version(pair, place, logs)
            topic_id = self._state.offsets.clusters[pair.source].topic_id
            version = (
                log_version,
                self._metadata_version(pair.source, place, logs.source_metadata),
                self._metadata_version(pair.target, place, logs.target_metadata),
                *(each.tobytes() for each in (commits.key, commits.offset, positions.target_offset)),
                tuple(positions.lists),
                tuple(topic_id.get(key) for key in commits.key.tolist()),
                self._epochs_version(pair, place, commits),
                self._state.has_own(pair.source, commits.key).tobytes(),
            )
            known, remembered = self._remembered.get(where, (None, None))
            if remembered is not None and known == version:
                return remembered
            named = commits.key[self._named(commits.key)]
            crossings = Crossings(self._state, self._translator, pair, named, self._is_named)
            translation = self._translator.ask(pair, commits)
            basis = self._translator.basis(pair, place)
            compared = log_version, readable_from(logs, commits.offset).tobytes()
            return _Asked(where, logs, compared, version, translation, basis, crossings)

    def _measured(self, asked: _Asked, positions: _Positions) -> tuple[LogComparison, Assessment]:
        self._translator.compute(asked.translation)
        answers = self._translator.answers(asked.translation)
        comparison = self._comparison(asked, readable_from(asked.logs, positions.commits.offset))
        measured = measure(asked.logs, comparison, positions.commits, answers, positions.target_offset)
        measured = replace(measured, listed=self._listed(asked, positions.commits))
        return comparison, _with_lists(measured, asked, positions)

    def _named(self, key: KeyRows) -> NDArray[np.bool_]:
        return are_named(self._state, key, self._is_named)

    def _listed(self, asked: _Asked, commits: Commits) -> Int64s:
        """Return how many records are on the list of each answer."""
        found = np.where(self._named(commits.key), 0, ABSENT)
        has_own = self._state.has_own(asked.where[0], commits.key)
        for row, each in asked.crossings.by_row(asked.translation).items():
            found[row] = encode_read_list(each.found, _ANY_ID).records if has_own[row] else 0
        return found

    def _keep(self, asked: _Asked, comparison: LogComparison, assessment: Assessment) -> None:
        """Cache the results, and the record positions computed for them."""
        source, target, place = asked.where
        for alias, log in ((source, asked.logs.source), (target, asked.logs.target)):
            if (live := self._state.index.log(alias, *place)) is not None:
                live.adopt(log)
        self._comparisons[asked.where] = asked.compared, comparison
        # By time alone, records become too old to be pending, and topics become idle.
        if not comparison.is_settling and self._config.strategy_of(place.topic) == "exact":
            self._remembered[asked.where] = asked.version, assessment

    def _log_pair(self, pair: Pair, topic_partition: TopicPartition) -> LogPair:
        index, (topic, partition), now_ms = self._state.index, topic_partition, pair.now_ms
        source_metadata = self._translator.view(pair.source, topic_partition, pair.snapshot)
        target_metadata = self._translator.view(pair.target, topic_partition, pair.snapshot)
        logs = LogPair(
            source_origin=index.code(pair.source),
            target_origin=index.code(pair.target),
            source=LogPair.view_or_empty(index.log(pair.source, topic, partition), source_metadata),
            target=LogPair.view_or_empty(index.log(pair.target, topic, partition), target_metadata),
            source_metadata=source_metadata,
            target_metadata=target_metadata,
            origin_names={index.code(alias): alias for alias in self._config.clusters},
            young_since_ms=self._translator.young_since_ms(now_ms),
            unread_since_ms=self._translator.unread_since_ms(pair.source, topic_partition, source_metadata, now_ms),
            share_since_ms=now_ms - _SHAPE_WINDOW_MS,
            # The index advances during a report; without a limit a busy topic would always have pending records.
            snapshot_end=end if (end := log_end(source_metadata)) != ABSENT else NO_END,
        )
        is_distinguished = not self._config.is_timed(topic) or _are_stamped(logs)
        return logs if is_distinguished else replace(logs, is_unstamped=True)

    def _comparison(self, asked: _Asked, committed: Int64s) -> LogComparison:
        """Compare the logs of a partition, unless they and the commits are unchanged since the last comparison."""
        known = self._comparisons.get(asked.where)
        if known is None or known[0] != asked.compared or known[1].is_settling:
            return compare_logs(asked.logs, committed)
        return known[1]

    def _log_version(self, pair: Pair, place: TopicPartition, logs: LogPair) -> Hashable:
        """Return a version that changes when either log does; *logs* are views of them."""
        live = [id(self._state.index.log(alias, *place)) for alias in (pair.source, pair.target)]
        return (*live, self._state.index.rebuilt(place), *logs.version())

    def _epochs_version(self, pair: Pair, topic_partition: TopicPartition, commits: Commits) -> Hashable:
        """Return a version that changes when another leader's records turn out to have ended below a commit."""
        ends = self._state.index.epoch_ends(ClusterPartition(pair.source, *topic_partition))
        epochs = self._state.offsets.clusters[pair.source].position_epoch(commits.key)
        return (*ends, *pair.snapshot.epoch_end(pair.source, topic_partition), epochs.tobytes())

    def _metadata_version(
        self, alias: str, topic_partition: TopicPartition, metadata: PartitionMetadata | None
    ) -> Hashable:
        """Return a version that changes when a partition's metadata does, or the index of its topic."""
        index, topic = self._state.index, topic_partition.topic
        indexed = frozenset(index.topic_ids(alias, topic)), index.partitions(alias, topic)
        if metadata is None:
            return indexed
        said = (metadata.is_refused, metadata.topic_id, metadata.is_missing, metadata.log_start, metadata.log_end)
        return indexed, metadata.cut_at, *said


def _with_lists(measured: Assessment, asked: _Asked, positions: _Positions) -> Assessment:
    """Return *measured* with how far consumers still skip at the source; what they skip there is not unread."""
    source, logs, skipped = asked.where[0], asked.logs, measured.skipped.copy()
    still_skips = np.full(len(skipped), None, np.object_)
    here, there = PartitionLog(logs.source, logs.source_origin), PartitionLog(logs.target, logs.target_origin)
    for row, text in enumerate(positions.lists):
        if text is None:
            still_skips[row] = Reason.LISTS_SILENT(source)
        elif (found := listed(text)) and found.start <= (committed := int(positions.commits.offset[row])) < found.end:
            still_skips[row] = Reason.STILL_SKIPS(found.end, source)
            if skipped[row]:
                span = int(measured.wanted_offset[row]), int(positions.target_offset[row])
                skipped[row] -= count_listed(found.ranges.from_offset(committed), span, here, there)
    lost = measured.lost - measured.skipped + skipped
    return replace(measured, still_skips=still_skips, skipped=skipped, lost=lost)


def _are_stamped(logs: LogPair) -> bool:
    return is_stamped(PartitionLog(logs.source, logs.source_origin), PartitionLog(logs.target, logs.target_origin))
