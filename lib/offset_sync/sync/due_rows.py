"""Which rows a pass has to look at: chosen before the clusters are asked, and once more when they have answered.

While they are asked somebody may commit, or reset a group at the target. What was chosen then is out of date: whoever
records the new commit reconciles it, so such a row is left to them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.key_index import KeyRows
from offset_sync.state.snapshot import Commits, Snapshot, frontiers
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Translator
from offset_sync.sync.reconciliation import ReconcileRequest, Selection
from offset_sync.sync.write_plan import refresh_due


class Due(NamedTuple):
    """What may have to be done in one direction: commits of the source, and how far both sides' logs are indexed."""

    commits: Commits
    partitions: set[TopicPartition]
    frontiers: dict[ClusterPartition, int]


class DueRows:
    """Chooses rows by what *state* knows."""

    def __init__(self, config: Config, state: SyncState, translator: Translator) -> None:
        self._state, self._translator = state, translator
        self._refresh_ms = to_ms(config.sync.refresh_interval)

    def before_asking(self, source: str, target: str, request: ReconcileRequest) -> Due | None:
        """Return what to ask about, None for nothing; the frontiers are taken before the clusters are asked."""
        state = self._state
        with state.lock:
            owned = state.rows_of(source, np.unique(request.rows))
            rows = self._candidates(source, target, owned, request.selection)
            if len(rows) == 0:
                return None
            partitions = set(state.keys.partitions_of(rows))
            known_to = frontiers(state.index, [target, source], partitions)
            return Due(state.commits(source, rows), partitions, known_to)

    def after_asking(
        self, source: str, target: str, commits: Commits, snapshot: Snapshot, request: ReconcileRequest
    ) -> Commits:
        """Return those of *commits* that still count, and in the regular pass only those that are not settled.

        That pass sees whether the target holds what was answered; what nothing can have changed is not computed anew.
        """
        state = self._state
        with state.lock:
            counts = state.counts(source, commits.key)
            now = state.commits(source, commits.key)
            chosen = counts & (now.offset == commits.offset) & (now.at_ms == commits.at_ms)
            chosen &= state.is_kept(source, target, commits, snapshot)
            if request.selection in (Selection.UNSETTLED, Selection.EVERY, Selection.DECIDED):
                self._unsettle_changed(source, target, commits.key, snapshot)
            if request.selection is Selection.UNSETTLED:
                chosen &= ~self._is_settled(source, target, commits)
                stands = state.last(source, target).stands(commits.key, commits.offset, commits.at_ms)
                commits = replace(commits, stands=stands)
            return commits.take(chosen)

    def refresh_before_ms(self) -> int:
        """Return from when on our own values are young enough."""
        return self._state.now_ms() - self._refresh_ms

    def _candidates(self, source: str, target: str, rows: KeyRows, selection: Selection) -> KeyRows:
        if selection is Selection.WAITING:
            return rows[self._state.last(source, target).is_waiting(rows)]
        return rows

    def _unsettle_changed(self, source: str, target: str, rows: KeyRows, snapshot: Snapshot) -> None:
        """Forget that answers are settled where the logs they rest on are not what they were.

        The target's log start may have passed an answer, a record may have come late, a topic may have been made anew:
        none of that shows in the commits or at the target's coordinator.
        """
        last, keys = self._state.last(source, target), self._state.keys
        for partition in keys.partitions_of(rows):
            try:
                outlook = self._translator.outlook(source, target, partition, snapshot)
            except Exception as problem:  # that partition's alone: it is asked for anew, which withholds it
                self._translator.problems.log_once((source, target), partition, problem)
                last.unsettle(keys.keys_in(partition))
                continue
            if outlook is not None and last.outlooks.get(partition) != outlook:
                last.outlooks[partition] = outlook
                last.unsettle(keys.keys_in(partition))

    def _is_settled(self, source: str, target: str, commits: Commits) -> NDArray[np.bool_]:
        last, there = self._state.last(source, target), self._state.offsets.clusters[target]
        is_settled = last.is_settled(commits.key, commits.offset, commits.at_ms)
        is_settled &= there.columns["actual_offset"][commits.key] == last.columns["wanted"][commits.key]
        is_settled &= ~self._state.homes_of(commits.key).is_contested & ~there.has_moved(commits.key)
        return is_settled & ~refresh_due(there.columns, commits.key, self.refresh_before_ms())
