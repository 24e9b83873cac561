"""The mirror of one partition: how far it has come, and whether its copies can be matched by contents.

:class:`Settings` are configured, :class:`Reach` and :class:`Counts` are observed on its copies.

The mirror may resend from an offset below the one that it has reached. While originals from there on are not all read,
a copy may be of one that was not read, and equal contents prove nothing. If the originals' log was not read from its
first record, the mirror's position must be found first: a copy of an older record may look like one of a later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from offset_sync.translate.index.runs import Int64s

_MARKS = 16
"""The mirror's position is noted so many times within ``resend_ms``."""
_ONE_IN = 1_000
_LATELY = 1_000_000
"""Beyond so many copies all counts are halved, so that older ones weigh less and less."""


@dataclass(frozen=True)
class Settings:
    """The properties of the mirror, and how far back it may go.

    *keeps_timestamps*: fingerprints include timestamps. *keeps_order*: False if the mirror may reorder records for good
    (``mirror.order: any``). Without timestamps a copy is at most *slack* offsets from its place in that order.
    *reorder_window* (offsets): how near broken order prevents certification. The mirror goes back at most
    *resend_records* (offsets) below the newest original that it has copied, and at most to its position *resend_ms*
    ago. Copies that no unique one follows are given up after *hold_ms*. If the originals are not known from their log's
    first record on, *entry* copies in a row that each have one original, in ascending order, show the mirror's
    position.
    """

    keeps_timestamps: bool = True
    keeps_order: bool = True
    slack: int = 1_000
    reorder_window: int = 200
    hold_ms: int = 86_400_000
    resend_records: int = 1_000_000
    resend_ms: int = 3_600_000
    entry: int = 100


@dataclass(frozen=True)
class Reach:
    """The mirror's progress in one partition; immutable.

    Originals are known from *begin* on. *newest* is the greatest that was certainly copied, -1: none yet. *floor* is
    the oldest that can still come. *marks* are times, in ms, with the newest of then. *row* are the originals of the
    last copies, as long as they ascend. The copy of *newest* was written at *newest_ms* or later, 0: unknown.
    """

    begin: int
    newest: int = -1
    floor: int = 0
    marks: tuple[tuple[int, int], ...] = ()
    row: tuple[int, ...] = ()
    newest_ms: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether every original that can still come is known."""
        return self.begin <= self.floor

    @property
    def first_needed(self) -> int:
        """The first original that is needed to resume."""
        return max(self.begin, self.floor)

    def at(self, now_ms: int, settings: Settings) -> Reach:
        """Return the same with the floor for copies after that of the newest original; it never falls.

        The time at which they arrive does not matter: a mirror that was down for hours goes back from its position
        before that, and may take long to resend. Times later than *now_ms*, by a clock that was ahead, are dropped:
        errs to a lower floor.
        """
        newest_ms = self.newest_ms if self.newest_ms <= now_ms else 0
        marks = [each for each in self.marks if each[0] <= now_ms]
        old = [newest for at_ms, newest in marks if at_ms <= newest_ms - settings.resend_ms]
        floor = max(self.floor, self.newest - settings.resend_records, *old[-1:])
        return replace(self, floor=floor, newest_ms=newest_ms, marks=tuple(marks[max(len(old) - 1, 0) :]))

    def advanced(self, newest: int, since_ms: int, now_ms: int, settings: Settings) -> Reach:
        """Return the same after a copy of *newest* was seen that was written at *since_ms* or later."""
        if newest <= self.newest:
            return self
        marks = self.marks
        if not marks or now_ms - marks[-1][0] >= settings.resend_ms // _MARKS:
            marks = (*marks, (now_ms, newest))
        return replace(self, newest=newest, newest_ms=since_ms, marks=marks)

    def searched(self, original: Int64s, since_ms: int, now_ms: int, settings: Settings) -> tuple[Reach, int]:
        """Locate the mirror by copies in their order: the only *original* of each, negative where it has none.

        They were written at *since_ms* or later. Copies that may be of several are left out. Returns the new progress,
        and the number of the first copy from which on the mirror is located, or how many copies there are. Only whole
        rows of ``Settings.entry`` copies count, each by its first original: a few accidental matches make none.
        """
        row, newest, first = [*self.row], self.newest, len(original)
        for number, each in enumerate(original.tolist()):
            if row and each <= row[-1]:
                row = []
            if each >= 0:
                row.append(each)
            if len(row) == settings.entry:
                newest = max(newest, row[0])
                first = min(first, max(number + 1 - len(row), 0))
                row = []
        return replace(self.advanced(newest, since_ms, now_ms, settings), row=tuple(row)), first


class Verdict(Enum):
    """Whether the copies of a partition can be matched."""

    ALIGNED = "ALIGNED"
    AMBIGUOUS = "AMBIGUOUS"
    """Less than one in 1,000 has unique contents: the mirror's position is unknown."""
    MIRROR_ALTERS_RECORDS = "MIRROR_ALTERS_RECORDS"
    """More than one in 1,000 has no original: the mirror alters records, or others write to the copy."""

    @property
    def remedy(self) -> str:
        """What is wrong and what to do; of ALIGNED nothing is."""
        if self is Verdict.AMBIGUOUS:
            return "fewer than 1 in 1,000 have unique contents; have the mirror stamp headers"
        return "more than 1 in 1,000 match no original; find out what changes records, or who writes to the copy"


@dataclass(frozen=True)
class Counts:
    """Counts of lately decided copies; immutable."""

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
        """Whether they can be matched. One alien alone is not enough."""
        if self.aliens * _ONE_IN > max(self.copies, _ONE_IN):
            return Verdict.MIRROR_ALTERS_RECORDS
        if self.unique * _ONE_IN < self.copies:
            return Verdict.AMBIGUOUS
        return Verdict.ALIGNED
