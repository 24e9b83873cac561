"""Aligns the copies of one partition as both logs are read: decides which original each copy is of.

Copies are aligned once the originals are read to the end that their log had *after* the copies were read. So the
original of every copy is among the known originals with the same contents: :mod:`offset_sync_contents.alignment.rules`
tell which.

This assumes that the mirror copies bytes, that no two contents have one fingerprint within what can still come
(:class:`Reach`), and in rule 2 that it keeps the order and drops nothing at random.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from offset_sync_contents.alignment.mirror import Counts, Reach, Settings, Verdict
from offset_sync_contents.alignment.originals import Matched, OriginalWindow, Pending
from offset_sync_contents.alignment.records import Fingerprints, Identities, Kind, Stretch
from offset_sync_contents.alignment.rules import Anchor, Decisions, KnownCopies, Neighbours

_NONE = -1
_BEGINNING = Anchor(-1, -1)
"""Where both logs are known from their first record on, what they begin with is compared as between two anchors."""
_MOST_HELD = 100_000
"""The most copies that are held back, 6 MB."""


@dataclass(frozen=True)
class AlignerState:
    """The state from which a partition can be resumed; immutable.

    To resume, read copies from *frontier*, the first one that is not decided, and originals from ``reach.first_needed``
    on. An older state does as well. All copies in the log at *complete_ms* are decided, 0: unknown. *anchor* is the
    last one, *dips* are offsets near it at which the order broke or may have.
    """

    frontier: int
    reach: Reach
    complete_ms: int = 0
    anchor: Anchor | None = None
    dips: tuple[int, ...] = ()
    counts: Counts = field(default_factory=Counts)


class Batch(NamedTuple):
    """Records read since the last call, up to *copies_end* and *originals_end*.

    At *complete_ms* the copies' log ended there or before, so later copies were written later. 0: unknown.
    """

    originals: Fingerprints
    originals_end: int
    copies: Fingerprints
    copies_end: int
    complete_ms: int = 0


class Aligner:
    """Aligns one partition; *state* is from before, and copies are read from its frontier on.

    Copies below *written* have their rows already, which may say less than what is decided here.
    """

    def __init__(self, state: AlignerState, settings: Settings, written: int = 0) -> None:
        self.state, self._written = state, written
        self._settings = settings
        self._matched = Matched()
        self._window = OriginalWindow()
        self._pending = Pending.none()
        self._complete: list[tuple[int, int]] = []

    def advance(self, batch: Batch, now_ms: int) -> Identities:
        """Add what was read, and return what is decided; all of it is below ``state.frontier`` then.

        Copies come in the order of their log. Those after the last unique one are held back, for ``hold_ms`` at most.
        While the partition cannot be matched (:class:`Verdict`) no copy has a known original.
        """
        reach = self.state.reach.at(now_ms, self._settings)
        # Times of a clock that was ahead, as of another machine, are dropped: errs to more that may be resent.
        complete_ms = self.state.complete_ms if self.state.complete_ms <= now_ms else 0
        self.state = replace(self.state, reach=reach, complete_ms=complete_ms)
        self._pending = replace(self._pending, read_ms=np.minimum(self._pending.read_ms, now_ms))
        self._window.append(batch.originals)
        # Every original that a held-back copy may have must still be found.
        lowest = int(self._pending.from_original.min(initial=reach.floor))
        self._window.forget_below(lowest)
        self._matched.forget_below(lowest)
        at_hand = self._pending.followed_by(self._looked_up(batch, now_ms))
        count = self._decided(at_hand, now_ms) if reach.is_complete else len(at_hand)
        copies, self._pending = at_hand.take(slice(0, count)), at_hand.take(slice(count, None))
        decide = self._aligned if reach.is_complete else self._before_it_is_found
        decided = decide(copies, now_ms)
        found = decided.identities(
            KnownCopies(self._window, self._matched, reach.newest, self._written), self._settings
        )
        frontier = int(self._pending.offset[0]) if len(self._pending) else batch.copies_end
        counts = self.state.counts.plus(count, int(copies.is_unique.sum()), int((found.kind == Kind.ALIEN).sum()))
        if counts.verdict is not Verdict.ALIGNED:
            found.kind[found.kind == Kind.EXACT] = Kind.AMBIGUOUS
        later = found.from_offset(self._written)
        self._matched.add(later.original[later.kind == Kind.EXACT])
        self._complete.append((batch.copies_end, batch.complete_ms))
        complete_ms = max([self.state.complete_ms, *(at_ms for end, at_ms in self._complete if end <= frontier)])
        self._complete = [each for each in self._complete if each[0] > frontier]
        self.state = replace(self.state, frontier=frontier, counts=counts, complete_ms=complete_ms)
        return found

    def _looked_up(self, batch: Batch, now_ms: int) -> Pending:
        copies = batch.copies
        floor, end, read_ms = (
            np.full(len(copies), each, np.int64) for each in (self.state.reach.floor, batch.originals_end, now_ms)
        )
        found = self._window.candidates(copies.fingerprint, floor, end)
        return Pending(copies.offset, copies.fingerprint, *found, floor, end, read_ms)

    def _decided(self, copies: Pending, now_ms: int) -> int:
        """Return how many copies are decided now: up to the last unique one, and those held back for too long."""
        unique = np.flatnonzero(copies.is_unique) + 1
        waited = int(copies.read_ms.searchsorted(now_ms - self._settings.hold_ms, "right"))
        return int(unique.max(initial=max(waited, len(copies) - _MOST_HELD)))

    def _aligned(self, copies: Pending, now_ms: int) -> Decisions:
        """Decide *copies* by all rules."""
        state, settings = self.state, self._settings
        is_first = state.frontier == 0 and state.reach.begin == 0
        near, decided = Neighbours.of(copies, _BEGINNING if is_first else state.anchor), Decisions.by_count(copies)
        dips = [*state.dips, *near.dips(self._matched)]
        if settings.keeps_order:
            decided.certify(near, dips, self._window, settings.reorder_window)
        if not settings.keeps_timestamps:
            decided.cut_to_near(near, self._window, settings.slack)
        newest = int(near.original.max(initial=_NONE))
        reach = state.reach.advanced(newest, state.complete_ms, now_ms, settings)
        # What comes next follows the last anchor, so only dips near that one matter.
        since = 0 if near.last is None else near.last.offset - 2 * settings.reorder_window
        recent = tuple(each for each in dips if each >= since)
        self.state = replace(state, reach=reach, anchor=near.last, dips=recent)
        return decided

    def _before_it_is_found(self, copies: Pending, now_ms: int) -> Decisions:
        """Decide *copies* whose originals may be older than all known ones: none of them is certain."""
        before, decided = self.state.reach, np.flatnonzero(copies.count <= 1)
        original = np.where(copies.count == 1, copies.least, _NONE)[decided]
        reach, first = before.searched(original, self.state.complete_ms, now_ms, self._settings)
        self.state = replace(self.state, reach=reach)
        found_at = 0 if before.newest >= 0 else int(np.append(decided, len(copies))[first])
        return Decisions.before_it_is_found(copies, found_at)


class _AskedEnd(NamedTuple):
    """The end of the originals' log, queried after the copies below *copies_end* were read; *at* is for rows.

    *at* is later than every incarnation of the logs known then, and earlier than any noticed afterwards.
    """

    copies_end: int
    originals_end: int
    at: datetime


@dataclass(frozen=True)
class Decision:
    """The decisions on the copies in ``[begin, end)``, for one append; its rows are stamped *at*.

    All copies in the log at *complete_ms* are decided, 0: unknown. *aliens* copies in a row, with those that were
    decided before, have no known original.
    """

    begin: int
    end: int
    identities: Identities
    at: datetime
    complete_ms: int = 0
    aliens: int = 0

    def from_offset(self, written: int) -> Decision | None:
        """Return the part at or above *written*; None where there is none."""
        if written >= self.end:
            return None
        begin = max(self.begin, written)
        return replace(self, begin=begin, identities=self.identities.from_offset(begin))

    def may_be_older(self, forgotten: int, entry: int) -> bool:
        """Return whether copies in a row may be of originals that were dropped, of which there are *forgotten*.

        Then nothing of it should be stored. *entry* aliens in a row are no accident. If fewer originals were dropped
        there can be no such row, so one alien is enough.
        """
        return forgotten > 0 and self.aliens >= (entry if forgotten >= entry else 1)


class CopyFollower:
    """Resumes from *state*: originals must be given from ``reach.first_needed`` on, copies from ``frontier``.

    The index has rows of all copies below *written*.
    """

    def __init__(self, state: AlignerState, settings: Settings, written: int = 0) -> None:
        self._aligner = Aligner(state, settings, written)
        self.written = written
        self._originals: list[Stretch] = []
        self._copies: list[Stretch] = []
        self._asked: list[_AskedEnd] = []
        self._at: datetime | None = None
        self._aliens = 0
        self._originals_end = state.reach.first_needed
        self._copies_end = self._given = state.frontier

    @property
    def state(self) -> AlignerState:
        """The state to resume from; its decisions must be stored before it."""
        return self._aligner.state

    @property
    def is_to_ask(self) -> bool:
        """Whether copies were read since the end of the originals' log was queried."""
        return self._copies_end > max([self._given, *(each.copies_end for each in self._asked)])

    @property
    def is_waiting(self) -> bool:
        """Whether copies that were read are not decided."""
        return self.state.frontier < self._copies_end

    def take(self, originals: Iterable[Stretch], copies: Iterable[Stretch]) -> bool:
        """Add what was read of both logs; False if there is a gap before it: then this follower cannot continue.

        Repeated records are left out.
        """
        for each in originals:
            if each.begin > self._originals_end:
                return False
            if each.end > self._originals_end:
                self._originals.append(each.between(self._originals_end, each.end))
                self._originals_end = each.end
        for each in copies:
            if each.begin > self._copies_end:
                return False
            if each.end > self._copies_end:
                self._copies.append(each.between(self._copies_end, each.end))
                self._copies_end = each.end
        return True

    def note_end(self, originals_end: int, at: datetime) -> None:
        """Note the end of the originals' log, queried after all copies so far were read; *at* is for rows."""
        self._asked.append(_AskedEnd(self._copies_end, originals_end, at))

    def advance(self, now_ms: int) -> Decision | None:
        """Decide what can be decided now; None where nothing can."""
        begin, ready = self.state.frontier, [each for each in self._asked if each.originals_end <= self._originals_end]
        if ready:
            self._given, self._at = ready[-1].copies_end, ready[-1].at
            self._asked = [each for each in self._asked if each.originals_end > self._originals_end]
        elif begin == self._given:  # nothing is held back
            return None
        found = self._aligner.advance(self._batch(), now_ms)
        end = self.state.frontier
        if end == begin or self._at is None:
            return None
        return Decision(begin, end, found, self._at, self.state.complete_ms, self._aliens_in_a_row(found))

    def _batch(self) -> Batch:
        """Return what may be aligned, and keep the rest."""
        originals, self._originals = self._originals, []
        copies = [each.between(each.begin, self._given) for each in self._copies if each.begin < self._given]
        self._copies = [each.between(self._given, each.end) for each in self._copies if each.end > self._given]
        complete_ms = max((each.complete_ms for each in copies), default=0)
        there, here = (
            Fingerprints.none().followed_by(*(each.records for each in read)) for read in (originals, copies)
        )
        return Batch(there, self._originals_end, here, self._given, complete_ms)

    def _aliens_in_a_row(self, found: Identities) -> int:
        """Return the longest row of aliens, continued from the last call; 0 if *found* has none."""
        is_alien = found.kind == Kind.ALIEN
        others = np.flatnonzero(~is_alien)
        edges = np.concatenate(([-1 - self._aliens], others, [len(found)]))
        rows = np.diff(edges) - 1
        self._aliens = int(rows[-1])
        return int(rows.max()) if is_alien.any() else 0
