"""The measured cost of a move of a group, and the prediction."""

from __future__ import annotations

from dataclasses import dataclass

from offset_sync_demo.story.oracle import Measured


@dataclass(frozen=True)
class GroupResult:
    """One row of a table: the prediction before the move, and its true cost."""

    group_id: str
    topic: str
    shape: str
    behind: int
    staleness: float
    predicted: int
    predicted_at_most: int
    states: frozenset[str]
    measured: Measured
    skipped: int = 0  # records on its read lists

    @property
    def is_as_promised(self) -> bool:
        """True if nothing was lost and the repeats of the captured commit are those predicted."""
        repeats = self.measured.duplicates_of_commit
        return self.measured.lost == 0 and self.predicted <= repeats <= self.predicted_at_most
