"""The five rules that identify copies; the first that fits applies::

    1  one original has these contents                                     it is that one
    2  certified: record for record the same as between their originals    it is the one in its place
    3  several originals, all of which have an earlier copy                it is a repetition, as of the greatest
    4  several; or none, and the mirror was not located yet                ambiguous, unread by every group
    5  none                                                                an alien, unread by every group

A copy of rule 1 is an *anchor*. *Certified*: between two neighbouring anchors the log has, record for record, the same
contents as between their originals, and no order was broken near::

    copies      A  x  y  x  B        offsets 70 to 74        each x is the one in its place, though there are others
    originals   A  x  y  x  B        offsets 20 to 24

A *dip* is an anchor whose original is at or below that of the anchor before, and that is its first copy as far as we
know: the mirror has reordered records. Where it has only resent some, the order is not broken.

*Near*: without timestamps equal contents recur. Only originals near those of the anchors on both sides are candidates,
as long as the mirror moves no record further.

A *repetition* counts as a copy of the greatest original that it may be of. So no group has read it too early: all of
its candidates come before it. And it is nowhere the first copy of any original, which alone says when that is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import Int64s
from offset_sync_contents.alignment.mirror import Settings
from offset_sync_contents.alignment.originals import AT_ONCE, Matched, OriginalWindow, Pending
from offset_sync_contents.alignment.records import Identities, Kind

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

    def dips(self, matched: Matched) -> list[int]:
        """Return the offsets of dips, ascending; *matched* are the originals of copies before all anchors."""
        _, first, of = np.unique(self.original, return_index=True, return_inverse=True)
        is_again = (first[of] < np.arange(len(of))) | matched.holds(self.original)
        found: list[int] = self.offset[1:][(self.original[1:] <= self.original[:-1]) & ~is_again[1:]].tolist()
        return found


@dataclass(frozen=True)
class Decisions:
    """One row per copy, which the rules write to: the *greatest* original that it may be of, from *first* on."""

    copies: Pending
    kind: NDArray[np.int8]
    greatest: Int64s
    first: Int64s

    @classmethod
    def by_count(cls, copies: Pending) -> Decisions:
        """Decide by the number of originals: rules 1, 4 and 5."""
        kind = np.select([copies.count == 0, copies.count == 1], [Kind.ALIEN, Kind.EXACT], Kind.AMBIGUOUS)
        return cls(copies, kind.astype(np.int8), copies.greatest.copy(), copies.from_original.copy())

    @classmethod
    def before_it_is_found(cls, copies: Pending, found_at: int) -> Decisions:
        """Decide copies that may be of originals older than all known ones: rules 4 and 5.

        From the copy number *found_at* on the mirror is located within the known originals.
        """
        decided = cls.by_count(copies)
        decided.kind[:] = Kind.AMBIGUOUS
        decided.kind[(copies.count == 0) & (np.arange(len(copies)) >= found_at)] = Kind.ALIEN
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
        self.greatest[row] = original[proven]
        self.kind[row] = Kind.EXACT

    def cut_to_near(self, near: Neighbours, window: OriginalWindow, slack: int) -> None:
        """Restrict the originals that copies may have to those near their neighbours' originals.

        If only one is left, by neighbours on both sides, it is that one.
        """
        near = near.take(self.kind[near.row] == Kind.AMBIGUOUS)
        first, end = self._near_range(near, slack)
        cut = window.candidates(self.copies.fingerprint[near.row], first, end)
        # If none is left the mirror has moved a record further than configured: all remain possible.
        some = cut.number > 0
        row = near.row[some]
        self.first[row], self.greatest[row] = first[some], cut.greatest[some]
        self.kind[near.row[(cut.number == 1) & near.has_both]] = Kind.EXACT

    def _near_range(self, near: Neighbours, slack: int) -> tuple[Int64s, Int64s]:
        """Return from where to below where the original of each copy can be, by its neighbours; shapes (copies,).

        Between two anchors the mirror may have gone back: copies follow the anchor before, or precede the one behind.
        """
        least, most = self.first[near.row], self.copies.to_original[near.row]
        before, both = np.flatnonzero(near.has_before), np.flatnonzero(near.has_both)
        low, high = least.copy(), most.copy()
        low[before] = np.maximum(least[before], near.original[near.stretch[before]] - slack)
        anchor, behind, offset = near.stretch[both], near.stretch[both] + 1, self.copies.offset[near.row[both]]
        led = near.original[behind] - (near.offset[behind] - offset)
        follows = near.original[anchor] + (offset - near.offset[anchor])
        low[both] = np.maximum(least[both], np.minimum(near.original[anchor], led) - slack)
        high[both] = np.minimum(most[both], np.maximum(near.original[behind], follows) + slack + 1)
        return low, high

    def identities(self, known: KnownCopies, settings: Settings) -> Identities:
        """Return what was decided, given what is *known* of the copies before these.

        A certified copy is of another original if the mirror does not keep the order after all. So where times are
        kept it is ambiguous if one of its candidates has no copy, but a later original has one before it: a group that
        has passed that one counts as past the candidate.
        """
        counts = np.arange(len(self.kind)) >= self.copies.offset.searchsorted(known.written)
        is_exact = self.kind == Kind.EXACT
        if settings.keeps_timestamps:
            before = np.maximum.accumulate(np.append(known.newest, np.where(is_exact, self.greatest, -1)))
            first = _FirstRows.of(self.greatest, is_exact & counts)
            for row, original in self._candidates(is_exact & (self.copies.count > 1), known.window):
                is_open = ~known.matched.holds(original) & (first.row(original) == len(self.kind))
                self.kind[row[is_open & (original < before[row])]] = Kind.AMBIGUOUS
        first = _FirstRows.of(self.greatest, (self.kind == Kind.EXACT) & counts)
        is_found, is_open = np.zeros((2, len(self.kind)), np.bool_)
        is_asked = (self.kind == Kind.AMBIGUOUS) & (self.copies.count > 0)
        for row, original in self._candidates(is_asked, known.window):
            is_found[row] = True
            is_open[row[~known.matched.holds(original) & (first.row(original) >= row)]] = True
        self.kind[is_found & ~is_open] = Kind.EXACT
        return Identities(self.copies.offset, self.kind, self.greatest)

    def _candidates(self, chosen: Bools, window: OriginalWindow) -> Iterator[tuple[NDArray[np.intp], Int64s]]:
        """Yield pairs of the number of a chosen copy and an original that it may be of, not too many at a time."""
        row = np.flatnonzero(chosen)
        chunk = np.cumsum(np.minimum(self.copies.count[row], AT_ONCE)) // AT_ONCE
        for rows in np.split(row, np.flatnonzero(np.diff(chunk)) + 1):
            ends = self.first[rows], self.copies.to_original[rows]
            copy, original = window.members(self.copies.fingerprint[rows], *ends)
            yield rows[copy], original


class KnownCopies(NamedTuple):
    """What is known before a decision: the *window* of originals, and of the copies so far which are *matched*.

    The *newest* original that may have a copy so far. Copies below the offset *written* have their rows already.
    """

    window: OriginalWindow
    matched: Matched
    newest: int
    written: int


@dataclass(frozen=True)
class _FirstRows:
    """By ascending *original*: the number of the first copy of it; *count* copies in all."""

    original: Int64s
    first: NDArray[np.intp]
    count: int

    @classmethod
    def of(cls, original: Int64s, chosen: Bools) -> _FirstRows:
        row = np.flatnonzero(chosen)
        distinct, first = np.unique(original[row], return_index=True)
        return cls(distinct, row[first], len(original))

    def row(self, original: Int64s) -> NDArray[np.intp]:
        """Return the number of the first copy of each original; *count* where there is none."""
        at = np.minimum(self.original.searchsorted(original), max(len(self.original) - 1, 0))
        if len(self.original) == 0:
            return np.full(len(original), self.count)
        found: NDArray[np.intp] = np.where(self.original[at] == original, self.first[at], self.count)
        return found
