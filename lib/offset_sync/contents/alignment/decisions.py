"""What is decided of some copies while one rule after the other is applied to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.contents.alignment.between_anchors import Neighbours, certified, near_range
from offset_sync.contents.alignment.order_watch import OrderWatch
from offset_sync.contents.alignment.original_window import OriginalWindow
from offset_sync.contents.alignment.pending import Pending
from offset_sync.contents.alignment.possible_places import possible_places
from offset_sync.contents.alignment.records import Identities, Kind, Places, Settings
from offset_sync.translate.index.runs import Int64s


@dataclass(frozen=True)
class Decisions:
    """One row per copy, which the rules write to; *first* and *end* are where its original is looked for."""

    copies: Pending
    kind: NDArray[np.int8]
    low: Int64s
    high: Int64s
    first: Int64s
    end: Int64s

    @classmethod
    def by_count(cls, copies: Pending) -> Decisions:
        """Return what the number of originals says: rules 1, 3 and 5."""
        kind = np.select([copies.count == 0, copies.count == 1], [Kind.ALIEN, Kind.EXACT], Kind.BOUNDED)
        spans = (copies.least, copies.greatest, copies.from_original, copies.to_original)
        return cls(copies, kind.astype(np.int8), *(each.copy() for each in spans))

    @classmethod
    def before_it_is_found(cls, copies: Pending, begin: int, found_at: int) -> Decisions:
        """Return what can be said of copies that may be of originals older than *begin*: rules 3, 4 and 5.

        From the copy number *found_at* on the mirror is known to be within what is known.
        """
        decided = cls.by_count(copies)
        is_none = copies.count == 0
        decided.kind[:] = Kind.BOUNDED
        decided.kind[is_none & (np.arange(len(copies)) >= found_at)] = Kind.ALIEN
        decided.low[:], decided.high[is_none] = 0, begin - 1
        return decided

    def certify(self, near: Neighbours, watch: OrderWatch, window: OriginalWindow, reorder_window: int) -> None:
        """Apply rule 2."""
        is_certified, original = certified(self.copies, near, watch, window, reorder_window)
        row = near.row[is_certified]
        self.low[row] = self.high[row] = original[is_certified]
        self.kind[row] = Kind.EXACT

    def cut_to_near(self, near: Neighbours, window: OriginalWindow, settings: Settings) -> None:
        """Leave out, of the originals that copies may have, what does not lie near those of their neighbours.

        Where only one is left, by neighbours on both sides, it is that one.
        """
        near = near.take(self.kind[near.row] == Kind.BOUNDED)
        first, end = near_range(self.copies, near, settings)
        cut = window.candidates(self.copies.fingerprint[near.row], first, end)
        # Where nothing is left the mirror has put a record further away than it was said to: all may be meant.
        some = cut.number > 0
        row = near.row[some]
        self.first[row], self.end[row] = first[some], end[some]
        self.low[row], self.high[row] = cut.least[some], cut.greatest[some]
        self.kind[near.row[(cut.number == 1) & near.has_before & near.has_behind]] = Kind.EXACT

    def identities(self, window: OriginalWindow, settings: Settings) -> Identities:
        """Return what was decided, and where the originals may stand that nobody recognised.

        A certified copy is of another original if the mirror does not keep the order after all. So where that costs
        little its other originals count too: then a group that has not read one has read the same contents.
        """
        is_asked = (self.kind == Kind.BOUNDED) & (self.copies.count > 0)
        if settings.keeps_timestamps:
            is_asked |= (self.kind == Kind.EXACT) & (self.copies.count > 1)
        row = np.flatnonzero(is_asked)
        places = Places.none()
        if len(row):
            known = np.unique(self.low[self.kind == Kind.EXACT])
            places = possible_places(self.copies.take(row), self.first[row], self.end[row], known, window)
        return Identities(self.copies.offset, self.kind, self.low, self.high, places)
