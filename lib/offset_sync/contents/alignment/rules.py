"""The five rules that identify copies; the first that fits applies::

    1  one original has these contents                                     it is that one
    2  certified: record for record the same as between their originals    it is the one in its place
    3  several originals, near the neighbours where times are not kept     between the least and the greatest
    4  none, and the mirror was not located yet in the known originals     older than all known ones
    5  none                                                                an alien, unread by every group

A copy of rule 1 is an *anchor*. *Certified*: between two neighbouring anchors the log has, record for record, the same
contents as between their originals, and no order was broken near::

    copies      A  x  y  x  B        offsets 70 to 74        each x is the one in its place, though there are others
    originals   A  x  y  x  B        offsets 20 to 24

A *dip* is an anchor whose original is at or below that of the anchor before: the mirror has either reordered or resent
records. It counts as broken order in both cases, which errs to fewer certified copies.

*Near*: without timestamps equal contents recur. Only originals near those of the anchors on both sides are candidates,
as long as the mirror moves no record further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.contents.alignment.mirror import Settings
from offset_sync.contents.alignment.originals import OriginalWindow, Pending, possible_places
from offset_sync.contents.alignment.records import Identities, Kind, Places
from offset_sync.translate.index.runs import Int64s

Bools = NDArray[np.bool_]


class Anchor(NamedTuple):
    """A copy at *offset* whose *original* is the only one with its contents."""

    offset: int
    original: int


@dataclass(frozen=True)
class Neighbours:
    """The anchors on both sides of each copy that is not one itself; shapes (copies,).

    *row* are the numbers of these copies. *stretch* is the number of the anchor before, negative where there is none;
    the last one has none behind it. *offset* and *original* are those of all anchors, by ascending offset; shapes
    (anchors,).
    """

    row: NDArray[np.intp]
    stretch: NDArray[np.intp]
    offset: Int64s
    original: Int64s

    @classmethod
    def of(cls, copies: Pending, before: Anchor | None) -> Neighbours:
        """Return those of *copies*; *before* is the last anchor before them."""
        known = [] if before is None else [before]
        unique = copies.is_unique
        row = np.flatnonzero(~unique)
        return cls(
            row,
            np.cumsum(unique)[row] - 1 + len(known),
            np.concatenate((np.array([each.offset for each in known], np.int64), copies.offset[unique])),
            np.concatenate((np.array([each.original for each in known], np.int64), copies.least[unique])),
        )

    @property
    def last(self) -> Anchor | None:
        """The last anchor, None where there is none."""
        return Anchor(int(self.offset[-1]), int(self.original[-1])) if len(self.offset) else None

    @property
    def has_before(self) -> Bools:
        """Where there is an anchor before."""
        return self.stretch >= 0

    @property
    def has_both(self) -> Bools:
        """Where there is one on both sides."""
        return self.has_before & (self.stretch + 1 < len(self.offset))

    def take(self, chosen: Bools) -> Neighbours:
        """Return those of the chosen copies."""
        return Neighbours(self.row[chosen], self.stretch[chosen], self.offset, self.original)

    @property
    def dips(self) -> list[int]:
        """The offsets of anchors whose original is at or below that of the anchor before, ascending."""
        found: list[int] = self.offset[1:][self.original[1:] <= self.original[:-1]].tolist()
        return found


@dataclass(frozen=True)
class Decisions:
    """One row per copy, which the rules write to; its original is searched in ``[first, end)``."""

    copies: Pending
    kind: NDArray[np.int8]
    low: Int64s
    high: Int64s
    first: Int64s
    end: Int64s

    @classmethod
    def by_count(cls, copies: Pending) -> Decisions:
        """Decide by the number of originals: rules 1, 3 and 5."""
        kind = np.select([copies.count == 0, copies.count == 1], [Kind.ALIEN, Kind.EXACT], Kind.BOUNDED)
        spans = (copies.least, copies.greatest, copies.from_original, copies.to_original)
        return cls(copies, kind.astype(np.int8), *(each.copy() for each in spans))

    @classmethod
    def before_it_is_found(cls, copies: Pending, begin: int, found_at: int) -> Decisions:
        """Decide copies that may be of originals older than *begin*: rules 3, 4 and 5.

        From the copy number *found_at* on the mirror is located within the known originals.
        """
        decided = cls.by_count(copies)
        is_none = copies.count == 0
        decided.kind[:] = Kind.BOUNDED
        decided.kind[is_none & (np.arange(len(copies)) >= found_at)] = Kind.ALIEN
        decided.low[:], decided.high[is_none] = 0, begin - 1
        return decided

    def certify(self, near: Neighbours, dips: Sequence[int], window: OriginalWindow, reorder_window: int) -> None:
        """Apply rule 2.

        Every copy of a stretch must be at hand, and no offset may be missing on either side: it could have been a
        record. No dip may be within *reorder_window* offsets behind it, or twice as many before it.
        """
        length, at_hand = np.diff(near.offset), np.diff(self.copies.offset.searchsorted(near.offset))
        # The anchor before all copies at hand is not among them, so from it to the first one there is one fewer.
        is_whole = at_hand + (near.offset[:-1] < self.copies.offset[:1]) == length
        is_near = np.array(dips, np.int64)
        dips_before = is_near.searchsorted(near.offset[:-1] - 2 * reorder_window)
        is_kept = dips_before == is_near.searchsorted(near.offset[1:] + reorder_window, "right")
        is_certified = is_whole & is_kept & (np.diff(near.original) == length)
        near = near.take(near.has_both)
        near = near.take(is_certified[near.stretch])
        original = near.original[near.stretch] + (self.copies.offset[near.row] - near.offset[near.stretch])
        is_certified[near.stretch[~window.has(self.copies.fingerprint[near.row], original)]] = False
        proven = is_certified[near.stretch]
        row = near.row[proven]
        self.low[row] = self.high[row] = original[proven]
        self.kind[row] = Kind.EXACT

    def cut_to_near(self, near: Neighbours, window: OriginalWindow, slack: int) -> None:
        """Restrict the originals that copies may have to those near their neighbours' originals.

        If only one is left, by neighbours on both sides, it is that one.
        """
        near = near.take(self.kind[near.row] == Kind.BOUNDED)
        first, end = self._near_range(near, slack)
        cut = window.candidates(self.copies.fingerprint[near.row], first, end)
        # If none is left the mirror has moved a record further than configured: all remain possible.
        some = cut.number > 0
        row = near.row[some]
        self.first[row], self.end[row] = first[some], end[some]
        self.low[row], self.high[row] = cut.least[some], cut.greatest[some]
        self.kind[near.row[(cut.number == 1) & near.has_both]] = Kind.EXACT

    def _near_range(self, near: Neighbours, slack: int) -> tuple[Int64s, Int64s]:
        """Return from where to below where the original of each copy can be, by its neighbours; shapes (copies,).

        Between two anchors the mirror may have gone back: copies follow the anchor before, or precede the one behind.
        """
        least, most = self.first[near.row], self.end[near.row]
        before, both = np.flatnonzero(near.has_before), np.flatnonzero(near.has_both)
        low, high = least.copy(), most.copy()
        low[before] = np.maximum(least[before], near.original[near.stretch[before]] - slack)
        anchor, behind, offset = near.stretch[both], near.stretch[both] + 1, self.copies.offset[near.row[both]]
        led = near.original[behind] - (near.offset[behind] - offset)
        follows = near.original[anchor] + (offset - near.offset[anchor])
        low[both] = np.maximum(least[both], np.minimum(near.original[anchor], led) - slack)
        high[both] = np.minimum(most[both], np.maximum(near.original[behind], follows) + slack + 1)
        return low, high

    def identities(self, window: OriginalWindow, settings: Settings) -> Identities:
        """Return what was decided, and the possible places of unrecognised originals.

        A certified copy is of another original if the mirror does not keep the order after all. So where it costs
        little, its other candidates count too: a group that has not read one has read the same contents.
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
