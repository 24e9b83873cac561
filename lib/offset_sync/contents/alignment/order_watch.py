"""Where the mirror broke the order of the originals, told by the copies whose originals are known.

A *dip* is a copy whose original stands at or below that of the copy before. If copies come back above that within a
few records, records were put into another order; if not, the mirror has gone back and sends again, in order::

    originals   5  6  9  7  8 10        a dip at 7, back above 9 at once: another order
    originals   5  6  7  2  3  4  5 …   a dip at 2: sent again
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import Int64s


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
