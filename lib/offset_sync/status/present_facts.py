"""Facts about rows at the time of a report: members, captured commits, silent jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.status.assessment import Assessment, Bools, has_text
from offset_sync.status.cluster_queries import Held, HeldOffsets
from offset_sync.status.job_progress import JobProgress
from offset_sync.status.staleness import ReportStaleness
from offset_sync.translate.index.runs import Int64s

Pair = tuple[str, str]


class PresentFacts:
    """Adds these facts, and keeps from report to report since when a row has been stale."""

    def __init__(self, config: Config, state: SyncState) -> None:
        self._aliases, self._state = list(config.clusters), state
        self._staleness = {pair: ReportStaleness() for pair in config.pairs()}
        self._hashes: Int64s = np.empty(0, np.int64)

    def added(
        self,
        assessment: Assessment,
        held: HeldOffsets,
        progress: JobProgress,
        measured: Mapping[Pair, Assessment],
        elsewhere: Mapping[str, Collection[str]],
        now_ms: int,
    ) -> Assessment:
        """Return *assessment* with these facts. *measured* are all pairs, *elsewhere* has the homes of each group."""
        pair, key, active = (assessment.source, assessment.target), assessment.key, held.active[assessment.target]
        staleness = self._staleness[pair]
        is_known, count = not isinstance(active, ClusterError), len(key)
        members = frozenset[str]() if isinstance(active, ClusterError) else active
        captured = self._captured(assessment, held, progress, measured)
        is_behind = ~captured.is_withheld & (~captured.holds_translation | captured.is_uncaptured)
        age_ms = np.maximum(now_ms - captured.pending_since_ms, 0)
        is_unindexed, still_ms = captured.unindexed > 0, progress.index_still_ms(*pair)
        # The time of a commit that is not captured is unknown, so staleness counts from now.
        begins_ms = np.where(captured.is_uncaptured, now_ms, captured.committed_at_ms)
        return replace(
            captured,
            elsewhere=_elsewhere(captured, elsewhere),
            is_activity_known=np.full(count, is_known),
            is_target_active=np.array([group_id in members for group_id, _, _ in captured.keys], np.bool_),
            held_back=progress.held_back(self._aliases, captured.keys),
            unreadable=progress.unindexed(pair, captured.keys),
            staleness_ms=staleness.behind_ms(key, is_behind, begins_ms, captured.target_offset, now_ms),
            mirror_lag_ms=np.where(captured.mirror_lag > 0, age_ms, 0),
            sync_silent_ms=self._sync_silent_ms(captured, progress, is_behind),
            index_silent_ms=staleness.waiting_ms(key, is_unindexed, still_ms, now_ms),
        )

    def _sync_silent_ms(self, assessment: Assessment, progress: JobProgress, is_behind: Bools) -> Int64s:
        """Return for how long sync_offsets has made no progress; 0 for rows with no work left for a run that ended."""
        silent = np.full(len(is_behind), progress.sync_silent_ms(assessment.source, assessment.target))
        needs_it = is_behind | assessment.has_moved_on
        return np.where(needs_it | (not progress.has_sync_ended), silent, 0)

    def _captured(
        self, assessment: Assessment, held: HeldOffsets, progress: JobProgress, measured: Mapping[Pair, Assessment]
    ) -> Assessment:
        """Add whether the reported commit is the newest one, by the coordinators or else by the tables.

        A commit at any cluster counts, as the group may have moved to a third one; but a third one that does not answer
        is not waited for. If the source's commit log is fully read, a differing group has only moved on since.
        """
        source, target, keys = assessment.source, assessment.target, assessment.keys
        here, there = held.at_source(source, keys), held.at_target(target, keys)
        unread = {alias: self._unread(alias, assessment.key, progress) for alias in self._aliases}
        has_moved_on = here.is_known & (here.offset != assessment.source_offset)
        # A position that the coordinator has deleted may still count, see SyncState.is_kept.
        is_deleted = self._state.offsets.clusters[source].columns["is_deleted"][assessment.key]
        has_moved_on &= ~(is_deleted & (here.offset == ABSENT))
        count, is_read = unread[source]
        is_held_back = has_text(progress.held_back([source], keys))
        total = np.where(here.is_known, 0, count)
        are_known = here.is_known | is_read
        for alias in self._aliases:
            if alias == source:
                continue
            beside = held.at_target(alias, keys)
            count, is_read = unread[alias]
            is_other = alias != target and self._is_other(alias, beside, assessment, measured.get((source, alias)))
            total += np.where(beside.is_known, is_other, count)
            are_known &= beside.is_known | is_read | (alias != target)
        return replace(
            assessment,
            held_at_source=here.offset,
            has_moved_on=has_moved_on,
            is_uncaptured=has_moved_on & ((unread[source][0] > 0) | ~unread[source][1] | is_held_back),
            not_asked=np.where(here.is_known, there.error, here.error),
            unread_commits=total,
            are_commits_known=are_known,
        )

    def _is_other(self, alias: str, held: Held, assessment: Assessment, ours: Assessment | None) -> Bools:
        """Return where a third cluster holds neither the captured offset nor the wanted one."""
        captured = self._state.offsets.clusters[alias].columns["actual_offset"][assessment.key]
        wanted = np.full(len(assessment.key), ABSENT, np.int64)
        if ours is not None:
            _, mine, its = np.intersect1d(assessment.key, ours.key, return_indices=True)
            wanted[mine] = np.where(ours.is_withheld, ABSENT, ours.wanted_offset)[its]
        is_other: Bools = (held.offset != ABSENT) & (held.offset != captured) & (held.offset != wanted)
        return is_other

    def _unread(self, alias: str, key: KeyRows, progress: JobProgress) -> tuple[Int64s, Bools]:
        """Return how many unread commits of a cluster may concern each group, and whether that is known."""
        keys = self._state.offsets.keys
        if len(keys) > len(self._hashes):
            hashes = coordinator_hashes([group_id for group_id, _, _ in keys[len(self._hashes) :]])
            self._hashes = np.concatenate((self._hashes, hashes))
        return progress.unread_commits(alias, self._hashes[key])


def _elsewhere(assessment: Assessment, homes: Mapping[str, Collection[str]]) -> NDArray[np.object_]:
    pair = (assessment.source, assessment.target)
    others = {group_id: ", ".join(each for each in aliases if each not in pair) for group_id, aliases in homes.items()}
    return np.array([others.get(group_id) or None for group_id, _, _ in assessment.keys], np.object_)
