"""No commit counts that the log of another cluster, unread since the driver's start, has a newer one for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offset_sync.model.values import Outcome
from offset_sync.state.last_translations import IS_HELD
from offset_sync.sync.reconciliation import Reconciliation
from simulation.commit_records import Position, SimRecord
from simulation.oracle import Violation

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver

_COMMITTED = int(Outcome.COMMITTED)
Answered = set[tuple[SimRecord, str]]
"""Commits of groups that were answered once, by whatever driver, and for which target."""


class UnreadCommits:
    """The contents of the clusters' commit logs at a driver's start, and what it knew of them from the tables."""

    def __init__(self, driver: SyncDriver, answered: Answered) -> None:
        self._driver, self._answered = driver, answered
        state, made = driver.state, driver.world.made
        self._stood = dict(driver.world.genuine)
        self._known = {
            made.get((where, offset, at_ms))
            for alias, commits in state.offsets.clusters.items()
            for key, *said in zip(state.offsets.keys, *commits.position(state.all_rows()), strict=True)
            for where, offset, at_ms in [(Position(alias, key.group_id, key.topic_partition), *map(int, said))]
        }

    def check(self, reconciliation: Reconciliation) -> None:
        """Raise Violation where a target was changed for a commit that may not have been the newest at the start."""
        moved, outcome = reconciliation.translated, reconciliation.outcome
        is_changed = (outcome == _COMMITTED) & (reconciliation.previous != moved.answers.wanted)
        for row in IS_HELD[outcome].nonzero()[0].tolist():
            said = self._driver.said(moved, row)[1]
            if said is None:
                continue  # what we brought to its home ourselves
            if is_changed[row] and (said, moved.target) not in self._answered:
                self._check_commit(said)
            self._answered.add((said, moved.target))

    def _check_commit(self, said: SimRecord) -> None:
        unread, stood = self._driver.state.unread.aliases, self._stood.get(said.where)
        is_of_before = stood is not None and said.true_ms <= stood.true_ms
        newer = [alias for alias in unread - {said.where.cluster} if self._stood_after(said, alias)]
        if is_of_before and newer:
            raise Violation("counted too early", f"{said}: {newer[0]} has a newer commit, unread")
        is_old = said.where.cluster in unread and stood is not None and said.true_ms < stood.true_ms
        if is_old and said not in self._known:
            raise Violation("counted too early", f"{said}: its log has a newer commit, unread")

    def _stood_after(self, said: SimRecord, alias: str) -> bool:
        other = self._stood.get(said.where._replace(cluster=alias))
        return other is not None and other.true_ms > said.true_ms
