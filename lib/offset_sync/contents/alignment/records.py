"""What was read of the logs of a partition, and what is told of its copies: fingerprints in, rows of the index out.

Only stretches count that follow each other and are of the log's present incarnation. A copy whose original is known
becomes a run, as with headers; any other becomes a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs, at_most, not_before


@dataclass(frozen=True)
class Fingerprints(Columns):
    """Records of one log by ascending *offset*; both int64, shape (records,). An offset that lacks has no record."""

    offset: Int64s
    fingerprint: Int64s

    @classmethod
    def of(cls, offset: ArrayLike, fingerprint: ArrayLike) -> Fingerprints:
        """Build them from anything array-like."""
        return cls(np.asarray(offset, np.int64), np.asarray(fingerprint, np.int64))


class Kind(IntEnum):
    """What is known of a copy."""

    EXACT = 0
    """Its original."""
    BOUNDED = 1
    """Between which two offsets its original lies."""
    ALIEN = 2
    """That it has none: it was altered, or produced here. Unread by everyone."""


@dataclass(frozen=True)
class Places(Columns):
    """Originals of which a copy may stand as late as at *offset*: not before that; shapes (places,), by *original*."""

    original: Int64s
    offset: Int64s


@dataclass(frozen=True)
class Identities:
    """Copies by ascending *offset*: ``low <= original <= high``; shapes (copies,). Of an alien both mean nothing.

    *places* are those of all originals that some BOUNDED one may be of, less those of which a copy is known here.
    """

    offset: Int64s
    kind: NDArray[np.int8]
    low: Int64s
    high: Int64s
    places: Places

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(frozen=True)
class Stretch:
    """All records with offsets in ``[begin, end)`` of a log, read at *read_ms*.

    What stood in the log at *complete_ms* is read up to *end*; 0: nobody knows.
    """

    begin: int
    end: int
    records: Fingerprints
    read_ms: int = 0
    complete_ms: int = 0

    def between(self, begin: int, end: int) -> Stretch:
        """Return the part within ``[begin, end)``, which is not empty."""
        begin, end = max(begin, self.begin), min(end, self.end)
        first, last = np.searchsorted(self.records.offset, [begin, end]).tolist()
        return Stretch(
            begin, end, self.records.take(slice(first, last)), self.read_ms, self.complete_ms if end == self.end else 0
        )


def of_present_life(stretches: Iterable[Stretch], lives: Sequence[Incarnation]) -> list[Stretch]:
    """Return what of *stretches* was not replaced in a later life of the log; *lives* are those after its first."""
    found = []
    for each in stretches:
        limits = [life.begins_at for life in lives if each.read_ms <= life.noticed_ms]
        limit = min([each.end, *limits])
        if limit > each.begin:
            found.append(each.between(each.begin, limit))
    return found


def newest_whole(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the last of *stretches* that join on to each other, in order and without what they have twice.

    Where one lacks, as after a checkpoint or a table was set back, what lies before is left out.
    """
    found: list[Stretch] = []
    for each in sorted(stretches, key=lambda each: (each.begin, -each.end)):
        if found and each.begin > found[-1].end:
            found = []
        if not found:
            found.append(each)
        elif each.end > found[-1].end:
            found.append(each.between(found[-1].end, each.end))
    return found


def to_runs(found: Identities, origin: int, seen_ms: int) -> Runs:
    """Return the copies as runs of the log in which they stand, joined and by ascending offset.

    *origin* is the code of the cluster that produced the originals. A copy of which only bounds are known stands in
    the place of the greatest original that it may be of, under the code that says so; an alien is of unknown origin.
    """
    code = np.select([found.kind == Kind.EXACT, found.kind == Kind.BOUNDED], [origin, at_most(origin)], UNKNOWN_ORIGIN)
    of_origin = np.where(found.kind == Kind.ALIEN, found.offset, found.high)
    return _one_each(found.offset, code, of_origin, seen_ms).joined()


def unrecognised(found: Identities, origin: int, seen_ms: int) -> Runs:
    """Return where the originals may stand of which no copy was recognised, by ascending offset of the copies' log."""
    places = found.places
    order = np.lexsort((places.original, places.offset))
    code = np.full(len(order), not_before(origin), np.int64)
    return _one_each(places.offset[order], code, places.original[order], seen_ms).joined()


def _one_each(offset: Int64s, code: Int64s, of_origin: Int64s, seen_ms: int) -> Runs:
    return Runs.of(offset, np.ones(len(offset)), code, of_origin, np.full(len(offset), seen_ms))
