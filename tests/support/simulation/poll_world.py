"""What a world remembers where commits are polled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

Commit = tuple[Hashable, int, int]
"""Where it was made, its offset, and a time."""


@dataclass
class PollWorld:
    """*clusters* are polled now, *excluded* groups are not synced.

    Coordinators do not answer for the groups *unasked* at a cluster, True: for now, False: for lack of a right. What we
    have *written*, and how often, was acknowledged; of the writes *doubted* it is unknown whether they were made.
    Records of the commit log that polls have *found* are named by cluster, partition and offset.
    *made_at* has the true times of commits by those that polls have given them. Steps back at a place are *noticed* up
    to this record of the commit log: between two polls some are not.
    """

    clusters: set[str]
    excluded: set[str] = field(default_factory=set)
    unasked: dict[tuple[str, str], bool] = field(default_factory=dict)
    written: dict[Hashable, Counter[int]] = field(default_factory=dict)
    doubted: set[tuple[Hashable, int]] = field(default_factory=set)
    found: set[tuple[str, int, int]] = field(default_factory=set)
    made_at: dict[Commit, int] = field(default_factory=dict)
    noticed: dict[Hashable, int] = field(default_factory=dict)

    def told_at(self, where: Hashable, offset: int, at_ms: int) -> int:
        """Return the time by its cluster's clock of a commit that the sync knows by *at_ms*."""
        return self.made_at.get((where, offset, at_ms), at_ms)
