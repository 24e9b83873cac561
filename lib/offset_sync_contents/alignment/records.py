"""Records read from a partition's logs, and the identities of its copies: fingerprints in, rows of the index out.

Only stretches count that follow each other and are of the log's present incarnation. A copy whose original is known
becomes a run, as with headers; any other is a record of unknown origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs
from offset_sync.translate.partition_log import Incarnation


@dataclass(frozen=True)
class Fingerprints(Columns):
    """Records of one log by ascending *offset*; both int64, shape (records,). A missing offset has no record."""

    offset: Int64s
    fingerprint: Int64s

    @classmethod
    def of(cls, offset: ArrayLike, fingerprint: ArrayLike) -> Fingerprints:
        """Build them from anything array-like."""
        return cls(np.asarray(offset, np.int64), np.asarray(fingerprint, np.int64))


class Kind(IntEnum):
    """How much is known of a copy."""

    EXACT = 0
    """Its original."""
    AMBIGUOUS = 1
    """That it may be of several originals, or of one that is not known."""
    ALIEN = 2
    """That it has none: it was altered, or produced here."""


@dataclass(frozen=True)
class Identities(Columns):
    """Copies by ascending *offset*; shapes (copies,). *original* is defined for EXACT ones, the others are unread."""

    offset: Int64s
    kind: NDArray[np.int8]
    original: Int64s

    def from_offset(self, offset: int) -> Identities:
        """Return those at or above *offset*."""
        return self.take(slice(int(self.offset.searchsorted(offset)), None))


@dataclass(frozen=True)
class Stretch:
    """All records with offsets in ``[begin, end)`` of a log, read at *read_ms*.

    At *complete_ms* the log ended at *end* or before; 0: unknown.
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


def of_present_incarnation(stretches: Iterable[Stretch], incarnations: Sequence[Incarnation]) -> list[Stretch]:
    """Return the parts of *stretches* that no later one of *incarnations*, all after the first, has replaced."""
    found = []
    for each in stretches:
        limits = [incarnation.begins_at for incarnation in incarnations if each.read_ms <= incarnation.noticed_ms]
        limit = min([each.end, *limits])
        if limit > each.begin:
            found.append(each.between(each.begin, limit))
    return found


def newest_whole(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the last contiguous *stretches*, in order and without overlaps.

    Stretches before a gap, as after a checkpoint or a table was set back, are left out.
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
    """Return the copies as runs of their log, joined and by ascending offset.

    *origin* is the code of the cluster that produced the originals. Copies that are not EXACT are of unknown origin.
    """
    is_exact = found.kind == Kind.EXACT
    code, of_origin = np.where(is_exact, origin, UNKNOWN_ORIGIN), np.where(is_exact, found.original, found.offset)
    one = np.ones(len(found), np.int64)
    return Runs.of(found.offset, one, code, of_origin, np.full(len(found), seen_ms)).joined()
