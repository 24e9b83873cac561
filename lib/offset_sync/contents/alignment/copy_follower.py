"""The copies of one partition as both logs are read: what is asked before they are aligned, and what is decided.

A copy may be aligned once the originals are known up to where their log ended when somebody asked *after* the copy was
read: its original lies below.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np

from offset_sync.contents.alignment.aligner import Aligner, AlignerState, Batch
from offset_sync.contents.alignment.records import Identities, Kind, Settings, Stretch, joined


class _AskedEnd(NamedTuple):
    """The originals' log ended at *originals_end*, asked after the copies below *copies_end* were read; rows bear *at*.

    *at* lies after every life of the logs that was known then, and before any that is noticed later.
    """

    copies_end: int
    originals_end: int
    at: datetime


@dataclass(frozen=True)
class Decision:
    """What was decided of the copies in ``[begin, end)``, to be written down at once; rows bear *at*.

    What stood in the copies' log at *complete_ms* is decided, 0: nobody knows. *aliens* copies in a row, with those
    that were decided before, have no original among those that are known.
    """

    begin: int
    end: int
    identities: Identities
    at: datetime
    complete_ms: int = 0
    aliens: int = 0

    def may_be_older(self, forgotten: int, entry: int) -> bool:
        """Return whether copies in a row may be of some of so many originals that were *forgotten*.

        Then nothing of it should be written down. So many as tell where the mirror is are no accident, and one is
        enough where fewer than that were forgotten: there will be no such row.
        """
        return forgotten > 0 and self.aliens >= (entry if forgotten >= entry else 1)


class CopyFollower:
    """Goes on from *state*: both logs are to be given from there on, ``reach.first_needed`` and ``frontier``."""

    def __init__(self, state: AlignerState, settings: Settings) -> None:
        self._aligner = Aligner(state, settings)
        self._originals: list[Stretch] = []
        self._copies: list[Stretch] = []
        self._asked: list[_AskedEnd] = []
        self._complete: list[tuple[int, int]] = []
        self._at: datetime | None = None
        self._aliens = 0
        self.originals_end = state.reach.first_needed
        self.copies_end = self._given = state.frontier

    @property
    def state(self) -> AlignerState:
        """What is to be kept to go on from here; what has led to it is to be written down before."""
        return self._aligner.state

    @property
    def is_to_ask(self) -> bool:
        """Whether copies were read since the end of the originals' log was asked."""
        return self.copies_end > max([self._given, *(each.copies_end for each in self._asked)])

    @property
    def is_waiting(self) -> bool:
        """Whether copies that were read are not decided."""
        return self.state.frontier < self.copies_end

    def take_originals(self, stretch: Stretch) -> bool:
        """Take in what was read of the originals' log; False where something lacks before it, and nothing is taken."""
        if stretch.begin > self.originals_end:
            return False
        if stretch.end > self.originals_end:
            self._originals.append(stretch.between(self.originals_end, stretch.end))
            self.originals_end = stretch.end
        return True

    def take_copies(self, stretch: Stretch) -> bool:
        """Take in what was read of the copies' log; False where something lacks before it, and nothing is taken."""
        if stretch.begin > self.copies_end:
            return False
        if stretch.end > self.copies_end:
            self._copies.append(stretch.between(self.copies_end, stretch.end))
            self.copies_end = stretch.end
            if stretch.complete_ms:
                self._complete.append((stretch.end, stretch.complete_ms))
        return True

    def note_end(self, originals_end: int, at: datetime) -> None:
        """Take note of where the originals' log ended after all was read that was taken in; rows may bear *at*."""
        self._asked.append(_AskedEnd(self.copies_end, originals_end, at))

    def advance(self, now_ms: int) -> Decision | None:
        """Decide what can be decided now; None where nothing can."""
        batch = self._batch()
        if batch is None:
            return None
        begin = self.state.frontier
        found = self._aligner.advance(batch, now_ms)
        end = self.state.frontier
        if end == begin or self._at is None:
            return None
        complete_ms = max((at_ms for last, at_ms in self._complete if last <= end), default=0)
        self._complete = [each for each in self._complete if each[0] > end]
        return Decision(begin, end, found, self._at, complete_ms, self._aliens_in_a_row(found))

    def _batch(self) -> Batch | None:
        ready = [each for each in self._asked if each.originals_end <= self.originals_end]
        is_kept_back = self.state.frontier < self._given
        if not ready and not is_kept_back:
            return None
        copies: list[Stretch] = []
        complete_ms = 0
        if ready:
            self._given, self._at = ready[-1].copies_end, ready[-1].at
            self._asked = [each for each in self._asked if each.originals_end > self.originals_end]
            copies = [each.between(each.begin, self._given) for each in self._copies if each.begin < self._given]
            self._copies = [each.between(self._given, each.end) for each in self._copies if each.end > self._given]
            complete_ms = max((each.complete_ms for each in copies), default=0)
        originals, self._originals = self._originals, []
        return Batch(joined(originals), self.originals_end, joined(copies), self._given, complete_ms)

    def _aliens_in_a_row(self, found: Identities) -> int:
        """Return how many copies in a row have no original, the longest row with any of *found*."""
        is_alien = found.kind == Kind.ALIEN
        if not is_alien.any():
            self._aliens = 0 if len(found) else self._aliens
            return 0
        others = np.flatnonzero(~is_alien)
        edges = np.concatenate(([-1 - self._aliens], others, [len(found)]))
        self._aliens = self._aliens + len(found) if len(others) == 0 else len(found) - 1 - int(others[-1])
        return int(np.diff(edges).max()) - 1
