"""Copies whose originals are known, *anchors*: the order in which they come, and what they say of the copies between.

A *dip* is a copy whose original stands at or below that of the copy before. If copies come back above that within a
few records, records were put into another order; if not, the mirror has gone back and sends again, in order::

    originals   5  6  9  7  8 10        a dip at 7, back above 9 at once: another order
    originals   5  6  7  2  3  4  5 …   a dip at 2: sent again

*Certified*: between two neighbouring anchors stands record for record what stands between their originals::

    copies      A  x  y  x  B        offsets 70 to 74        each x is the one in its place, though there are others
    originals   A  x  y  x  B        offsets 20 to 24

*Near*: where times of records are not kept, equal contents come again and again. Only originals near those of the
anchors on both sides can be meant, as long as the mirror puts no record further away.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from offset_sync.contents.alignment.originals import OriginalWindow, Pending
from offset_sync.contents.alignment.records import Settings
from offset_sync.translate.index.runs import Int64s

Bools = NDArray[np.bool_]


def _nothing() -> Int64s:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Anchors:
    """Copies by ascending *offset* whose *original* is the only one with their contents; shapes (anchors,)."""

    offset: Int64s = field(default_factory=_nothing)
    original: Int64s = field(default_factory=_nothing)

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def last(self) -> Anchors:
        """The last one, if there is one."""
        return Anchors(self.offset[-1:], self.original[-1:])

    def followed_by(self, others: Anchors) -> Anchors:
        """Return both."""
        return Anchors(np.concatenate((self.offset, others.offset)), np.concatenate((self.original, others.original)))


@dataclass(frozen=True)
class OrderWatch:
    """What was seen so far of a partition; does not change once it is made.

    *broken* are the offsets at which the order broke, ascending, *open_at* those of dips of which nobody can tell yet,
    and *open_before* the originals of the copies before these.
    """

    broken: Int64s = field(default_factory=_nothing)
    open_at: Int64s = field(default_factory=_nothing)
    open_before: Int64s = field(default_factory=_nothing)

    def seen(self, anchors: Anchors, newest: int, window: int) -> OrderWatch:
        """Return what is known after *anchors*, the first of them the last one of before; *newest* is the last copy.

        Order that breaks is looked back at for *window* records. Errs to broken: a dip counts as one until so many
        records have come after it.
        """
        row = np.flatnonzero(anchors.original[1:] <= anchors.original[:-1])
        at = np.concatenate((self.open_at, anchors.offset[row + 1]))
        before = np.concatenate((self.open_before, anchors.original[row]))
        first = anchors.offset.searchsorted(at, "left")
        end = anchors.offset.searchsorted(at + window, "right")
        highest = np.full(len(at), -1, np.int64)
        some = np.flatnonzero(first < end)
        if len(some):
            edges = np.stack((first[some], end[some]), axis=1).ravel()
            # With one more at the end every range begins and ends within the array.
            highest[some] = np.maximum.reduceat(np.append(anchors.original, -1), edges)[::2]
        is_broken = highest > before
        is_open = ~is_broken & (at + window > newest)
        broken = np.sort(np.concatenate((self.broken, at[is_broken])))
        since = (int(anchors.offset[-1]) if len(anchors) else newest) - 2 * window
        return OrderWatch(broken[broken.searchsorted(since) :], at[is_open], before[is_open])

    def is_kept(self, start: Int64s, end: Int64s, window: int) -> NDArray[np.bool_]:
        """Return for which stretches of the copies' log no order was broken near; shapes (stretches,)."""
        near = np.sort(np.concatenate((self.broken, self.open_at)))
        kept: NDArray[np.bool_] = near.searchsorted(start - 2 * window) == near.searchsorted(end + window, "right")
        return kept


@dataclass(frozen=True)
class Neighbours:
    """The anchors on both sides of each of some copies; shapes (copies,).

    *row* are numbers among the copies at hand, *stretch* that of the anchor before, of which there is none where it is
    negative, nor one behind where it is the last.
    """

    row: NDArray[np.intp]
    stretch: NDArray[np.intp]
    anchors: Anchors

    @property
    def has_before(self) -> Bools:
        """Where there is an anchor before."""
        return self.stretch >= 0

    @property
    def has_behind(self) -> Bools:
        """Where there is an anchor behind."""
        return self.stretch + 1 < len(self.anchors)

    def take(self, rows: Bools) -> Neighbours:
        """Return those of the chosen copies."""
        return Neighbours(self.row[rows], self.stretch[rows], self.anchors)

    @classmethod
    def of(cls, copies: Pending, row: NDArray[np.intp], before: Anchors) -> Neighbours:
        """Return those of the copies *row*; *before* all copies at hand there was this anchor, or none."""
        unique = copies.is_unique
        anchors = before.followed_by(Anchors(copies.offset[unique], copies.least[unique]))
        stretch = np.cumsum(unique)[row] - 1 + len(before)
        return cls(row, stretch, anchors)


def certified(
    copies: Pending, near: Neighbours, watch: OrderWatch, window: OriginalWindow, reorder_window: int
) -> tuple[Bools, Int64s]:
    """Return which copies are certified, and the original in the place of each, shapes (copies,).

    Every copy of the stretch has to be at hand, and no offset may lack on either side: it could have been a record.
    """
    anchors = near.anchors
    original = np.zeros(len(near.row), np.int64)
    if len(anchors) < 2 or len(near.row) == 0:
        return np.zeros(len(near.row), np.bool_), original
    length = np.diff(anchors.offset)
    at_hand = np.diff(copies.offset.searchsorted(anchors.offset, "left"))
    # The anchor before all copies at hand is not among them, so from it to the first one there is one fewer.
    is_whole = at_hand + (anchors.offset[:-1] < copies.offset[0]) == length
    is_candidate = is_whole & (np.diff(anchors.original) == length)
    is_candidate &= watch.is_kept(anchors.offset[:-1], anchors.offset[1:], reorder_window)
    some = near.has_before & near.has_behind
    some[some] = is_candidate[near.stretch[some]]
    stretch, row = near.stretch[some], near.row[some]
    in_place = anchors.original[stretch] + (copies.offset[row] - anchors.offset[stretch])
    is_other = ~window.has(copies.fingerprint[row], in_place)
    refuted = np.zeros(len(length), np.bool_)
    refuted[stretch[is_other]] = True
    found = some.copy()
    found[some] = ~refuted[stretch]
    original[some] = in_place
    return found, original


def near_range(copies: Pending, near: Neighbours, settings: Settings) -> tuple[Int64s, Int64s]:
    """Return from where to below where the original of each copy can stand, by its neighbours; shapes (copies,).

    Between two anchors the mirror may have gone back: copies follow the anchor before, or lead to the one behind.
    """
    low, high = copies.from_original[near.row].copy(), copies.to_original[near.row].copy()
    anchors, offset = near.anchors, copies.offset[near.row]
    before = np.flatnonzero(near.has_before)
    both = np.flatnonzero(near.has_before & near.has_behind)
    if len(before):
        least = anchors.original[near.stretch[before]]
        low[before] = np.maximum(low[before], least - settings.slack)
    if len(both):
        first, last = near.stretch[both], near.stretch[both] + 1
        led = anchors.original[last] - (anchors.offset[last] - offset[both])
        follows = anchors.original[first] + (offset[both] - anchors.offset[first])
        least = np.minimum(anchors.original[first], led) - settings.slack
        most = np.maximum(anchors.original[last], follows) + settings.slack
        low[both] = np.maximum(copies.from_original[near.row[both]], least)
        high[both] = np.minimum(copies.to_original[near.row[both]], most + 1)
    return low, high
