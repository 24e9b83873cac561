"""The copies of one partition, micro-batch by micro-batch: which original each one is of, or may be.

Before each call the end of the copies' log is asked first and that of the originals' log afterwards; the originals are
read to there, the copies so far or less. So the original of every copy lies below the end of what is known of the
originals, and of all with the same contents that are known the right one is among them. Five rules, the first that
fits::

    1  one original has these contents                                     it is that one
    2  certified: record for record what stands between two such originals  it is the one in its place
    3  several originals, near the neighbours where times are not kept      between the least and the greatest
    4  none, and the mirror was not found yet in what is known              older than all that is known
    5  none                                                                 an alien, unread by everyone

Nothing is assumed but that the mirror copies bytes, that no two contents have one fingerprint within what can still
come (:class:`Reach`), and in rule 2 that it keeps the order and drops nothing at random. Where that is so ``low <=
original <= high`` always.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.contents.alignment.order import Anchors, Neighbours, OrderWatch, certified, near_range
from offset_sync.contents.alignment.originals import OriginalWindow, Pending, possible_places
from offset_sync.contents.alignment.reach import Counts, Reach
from offset_sync.contents.alignment.records import Fingerprints, Identities, Kind, Places, Settings
from offset_sync.translate.index.runs import Int64s

_NONE = -1


@dataclass(frozen=True)
class AlignerState:
    """All that is to be kept of a partition to go on later; does not change once it is made.

    Who goes on reads the copies again from *frontier*, the first one that is not decided, and the originals from
    ``reach.first_needed`` on. An older state does as well. What stood in the copies' log at *complete_ms* is decided.
    """

    frontier: int
    reach: Reach
    complete_ms: int = 0
    anchor: Anchors = field(default_factory=Anchors)
    watch: OrderWatch = field(default_factory=OrderWatch)
    counts: Counts = field(default_factory=Counts)


class Batch(NamedTuple):
    """Records read since the last call, up to *copies_end* and *originals_end*.

    The copies' log ended there at *complete_ms*, or before there: later copies were written later. 0: nobody knows.
    """

    originals: Fingerprints
    originals_end: int
    copies: Fingerprints
    copies_end: int
    complete_ms: int = 0


class Aligner:
    """One partition; *state* is what was known before, of a copies' log that is read from its frontier on."""

    def __init__(self, state: AlignerState, settings: Settings) -> None:
        self.state = state
        self._settings = settings
        self._window = OriginalWindow()
        self._pending = Pending.none()
        self._complete: list[tuple[int, int]] = []

    def advance(self, batch: Batch, now_ms: int) -> Identities:
        """Take in what was read, and return what can be decided; all of it lies below ``state.frontier`` then.

        Copies come in the order of their log. Those behind the last unique one are kept back, ``hold_ms`` at most.
        """
        self._forget_later_than(now_ms)
        reach = self.state.reach.at(self._settings)
        self.state = replace(self.state, reach=reach)
        self._window.append(batch.originals)
        # Of what is kept back any original that it may have is still to be found.
        self._window.forget_below(int(self._pending.from_original.min(initial=reach.floor)))
        at_hand = self._pending.followed_by(self._looked_up(batch, now_ms))
        count = self._decided(at_hand, now_ms) if reach.is_complete else len(at_hand)
        copies = at_hand.take(slice(0, count))
        newest = int(at_hand.offset[-1]) if len(at_hand) else self.state.frontier
        decide = self._aligned if reach.is_complete else self._before_it_is_found
        found = decide(copies, newest, now_ms).identities(self._window, self._settings)
        self._pending = at_hand.take(slice(count, None))
        frontier = int(self._pending.offset[0]) if len(self._pending) else batch.copies_end
        counts = self.state.counts.plus(count, int(copies.is_unique.sum()), int((found.kind == Kind.ALIEN).sum()))
        self._complete.append((batch.copies_end, batch.complete_ms))
        complete_ms = max([self.state.complete_ms, *(at_ms for end, at_ms in self._complete if end <= frontier)])
        self._complete = [each for each in self._complete if each[0] > frontier]
        self.state = replace(self.state, frontier=frontier, counts=counts, complete_ms=complete_ms)
        return found

    def _forget_later_than(self, now_ms: int) -> None:
        """Forget times of a clock that was ahead, as of another machine: errs to what may still be sent again."""
        complete_ms = self.state.complete_ms if self.state.complete_ms <= now_ms else 0
        self.state = replace(self.state, reach=self.state.reach.until(now_ms), complete_ms=complete_ms)
        self._pending = replace(self._pending, read_ms=np.minimum(self._pending.read_ms, now_ms))

    def _looked_up(self, batch: Batch, now_ms: int) -> Pending:
        copies = batch.copies
        floor = np.full(len(copies), self.state.reach.floor, np.int64)
        end = np.full(len(copies), batch.originals_end, np.int64)
        found = self._window.candidates(copies.fingerprint, floor, end)
        return Pending(copies.offset, copies.fingerprint, *found, floor, end, np.full(len(copies), now_ms, np.int64))

    def _decided(self, copies: Pending, now_ms: int) -> int:
        """Return how many copies are decided now: up to the last unique one, and what has waited for too long.

        A row of copies that have no original is decided as one, for how long it is tells what they are.
        """
        unique = np.flatnonzero(copies.is_unique)
        waited = int(copies.read_ms.searchsorted(now_ms - self._settings.hold_ms, "right"))
        count = max(int(unique[-1]) + 1 if len(unique) else 0, waited)
        if count == 0 or copies.count[count - 1] > 0:
            return count
        return count + int(np.append(copies.count[count:] > 0, True).argmax())

    def _aligned(self, copies: Pending, newest_copy: int, now_ms: int) -> Decisions:
        """Decide *copies* by rules 1, 2, 3 and 5; *newest_copy* is the last one at hand."""
        state, settings = self.state, self._settings
        near = Neighbours.of(copies, np.flatnonzero(~copies.is_unique), state.anchor)
        watch = state.watch.seen(near.anchors, newest_copy, settings.reorder_window)
        decided = Decisions.by_count(copies)
        if settings.keeps_order:
            decided.certify(near, watch, self._window, settings.reorder_window)
        if not settings.keeps_timestamps:
            decided.cut_to_near(near, self._window, settings)
        newest = int(near.anchors.original.max(initial=_NONE))
        reach = state.reach.advanced(newest, state.complete_ms, now_ms, settings)
        self.state = replace(state, reach=reach, anchor=near.anchors.last, watch=watch)
        return decided

    def _before_it_is_found(self, copies: Pending, newest: int, now_ms: int) -> Decisions:
        """Decide *copies* that may be of originals from before all that is known: by rules 3, 4 and 5."""
        before, told = self.state.reach, np.flatnonzero(copies.count <= 1)
        original = np.where(copies.count == 1, copies.least, _NONE)[told]
        reach, first = before.searched(original, self.state.complete_ms, now_ms, self._settings)
        self.state = replace(self.state, reach=reach)
        found_at = 0 if before.newest >= 0 else int(np.append(told, len(copies))[first])
        return Decisions.before_it_is_found(copies, before.begin, found_at)


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
