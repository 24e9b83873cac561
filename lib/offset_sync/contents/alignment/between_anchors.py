"""Copies between two anchors, which are copies whose originals are known: what their neighbours say of them.

*Certified*: between two neighbouring anchors stands record for record what stands between their originals::

    copies      A  x  y  x  B        offsets 70 to 74        each x is the one in its place, though there are others
    originals   A  x  y  x  B        offsets 20 to 24

*Near*: where times of records are not kept, equal contents come again and again. Only originals near those of the
anchors on both sides can be meant, as long as the mirror puts no record further away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.contents.alignment.order_watch import Anchors, OrderWatch
from offset_sync.contents.alignment.original_window import OriginalWindow
from offset_sync.contents.alignment.pending import Pending
from offset_sync.contents.alignment.records import Settings
from offset_sync.translate.index.runs import Int64s

Bools = NDArray[np.bool_]


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
