"""What was read of a log, stretch by stretch, and what of it can be believed: whole, and of the log's present life."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from offset_sync.contents.alignment.records import Fingerprints
from offset_sync.translate.index.incarnations import Incarnation


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
        records = Fingerprints(self.records.offset[first:last], self.records.fingerprint[first:last])
        return Stretch(begin, end, records, self.read_ms, self.complete_ms if end == self.end else 0)


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


def joined(stretches: Sequence[Stretch]) -> Fingerprints:
    """Return the records of *stretches*, which follow each other."""
    if not stretches:
        return Fingerprints.of([], [])
    if len(stretches) == 1:
        return stretches[0].records
    offset = np.concatenate([each.records.offset for each in stretches])
    return Fingerprints(offset, np.concatenate([each.records.fingerprint for each in stretches]))
