"""No commit counts that the log of another cluster, unread since the driver's start, has a newer one for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offset_sync.model.values import Outcome, TopicPartition
from offset_sync.state.last_translations import IS_HELD
from offset_sync.sync.reconciled import Reconciliation
from simulation.oracle import Violation
from simulation.world import Genuine, Position

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver

_COMMITTED = int(Outcome.COMMITTED)
Answered = set[tuple[Position, str, int, int]]
"""Commits that were answered once, by whatever driver: position, target, committed offset and its time."""


class UnreadCommits:
    """The contents of the clusters' commit logs at a driver's start, and what it knew of them from the tables."""

    def __init__(self, driver: SyncDriver, answered: Answered) -> None:
        self._driver, self._answered = driver, answered
        world, state = driver.world, driver.state
        self._state, self._made = state, world.made
        self._stood: dict[Position, Genuine] = dict(world.genuine)
        self._known = {
            (where := Position(alias, key.group_id, key.topic_partition)): (
                int(offset),
                world.polls.told_at(where, int(offset), int(at_ms)),
            )
            for alias, commits in state.offsets.clusters.items()
            for key, offset, at_ms in zip(state.offsets.keys, *commits.position(state.all_rows()), strict=True)
        }

    def check(self, reconciliation: Reconciliation) -> None:
        """Raise Violation where a target was changed for a commit that may not have been the newest at the start."""
        moved, outcome = reconciliation.translated, reconciliation.outcome
        is_changed = (outcome == _COMMITTED) & (reconciliation.previous != moved.answers.wanted)
        for row in IS_HELD[outcome].nonzero()[0].tolist():
            where, commit = self._commit_of(moved, row)
            answered = (where, moved.target, *commit)
            if is_changed[row] and answered not in self._answered:
                self._check_commit(where, *commit)
            self._answered.add(answered)

    def _commit_of(self, moved: Any, row: int) -> tuple[Position, tuple[int, int]]:
        group, topic, partition = self._state.offsets.keys[int(moved.commits.key[row])]
        where = Position(moved.source, group, TopicPartition(topic, partition))
        offset, at_ms = int(moved.commits.offset[row]), int(moved.commits.at_ms[row])
        return where, (offset, self._driver.world.polls.told_at(where, offset, at_ms))

    def _check_commit(self, source: Position, offset: int, at_ms: int) -> None:
        unread = self._state.unread.aliases
        stood = self._stood.get(source)
        true_ms = self._made.get((source, offset, at_ms))
        if true_ms is None:
            return  # what we brought to its home ourselves
        is_of_before = stood is not None and true_ms <= stood.true_ms
        newer = [alias for alias in unread - {source.cluster} if self._stood_after(source, alias, true_ms)]
        if is_of_before and newer:
            raise Violation("counted too early", f"{source} at {offset}: {newer[0]} has a newer commit, unread")
        is_known = self._known.get(source) == (offset, at_ms)
        if source.cluster in unread and stood is not None and true_ms < stood.true_ms and not is_known:
            raise Violation("counted too early", f"{source} at {offset}: its log has a newer commit, unread")

    def _stood_after(self, source: Position, alias: str, true_ms: int) -> bool:
        other = self._stood.get(source._replace(cluster=alias))
        return other is not None and other.true_ms > true_ms
