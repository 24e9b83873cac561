"""Whether a partition can be aligned at all: how many of its copies are unique, and how many have no original."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_ONE_IN = 1_000
_LATELY = 1_000_000
"""So many copies are counted; what came before them counts for half, and for half of that again."""


class Verdict(Enum):
    """What may be said of the copies of a partition."""

    ALIGNED = "aligned"
    AMBIGUOUS = "AMBIGUOUS"
    """Less than one in 1,000 has contents of its own: nothing tells where the mirror is."""
    MIRROR_ALTERS_RECORDS = "MIRROR_ALTERS_RECORDS"
    """More than one in 1,000 has no original: the mirror alters records, or somebody else writes them."""


@dataclass(frozen=True)
class Counts:
    """Copies that were decided lately; does not change once it is made."""

    copies: int = 0
    unique: int = 0
    aliens: int = 0

    def plus(self, copies: int, unique: int, aliens: int) -> Counts:
        """Return the same with so many more."""
        found = Counts(self.copies + copies, self.unique + unique, self.aliens + aliens)
        if found.copies <= _LATELY:
            return found
        return Counts(found.copies // 2, found.unique // 2, found.aliens // 2)

    @property
    def verdict(self) -> Verdict:
        """Whether the partition has to be withheld. One alien alone says nothing of a mirror."""
        if self.aliens * _ONE_IN > max(self.copies, _ONE_IN):
            return Verdict.MIRROR_ALTERS_RECORDS
        if self.unique * _ONE_IN < self.copies:
            return Verdict.AMBIGUOUS
        return Verdict.ALIGNED
