"""The true cost of a failover for a group, counted from the records it read before and after.

It identifies records by the values that the producer wrote. It uses no header, no index and no table, so it can
contradict them.

    source:  r0 r1 r2 r3 | c = 4, the last captured commit;  r4 was read after it
    target:  r0 r2 | start, the offset given to the group;  r1 r4 r3 n1
                     r1 and r3 are duplicates; so is r4, past the commit; n1 must be read or it is lost
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync_demo.kafka.clients import Partition
from offset_sync_demo.load.records import Records, no_records

_NO_IDS = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True)
class Measured:
    """Counts of records. *past_commit* is a part of *duplicates*; *lost* must be 0."""

    read_before: int = 0
    read_after: int = 0
    duplicates: int = 0
    past_commit: int = 0
    lost: int = 0
    not_at_target: int = 0
    lost_ids: tuple[int, ...] = ()

    @property
    def duplicates_of_commit(self) -> int:
        """Duplicates that the translation of the captured commit can predict."""
        return self.duplicates - self.past_commit

    def __add__(self, other: Measured) -> Measured:
        """Return the sums; the first few lost records are kept as examples."""
        return Measured(
            self.read_before + other.read_before,
            self.read_after + other.read_after,
            self.duplicates + other.duplicates,
            self.past_commit + other.past_commit,
            self.lost + other.lost,
            self.not_at_target + other.not_at_target,
            (self.lost_ids + other.lost_ids)[:10],
        )


def compare(
    before: Records,
    after: Records,
    target: Records,
    captured_offset: int,
    *,
    read_elsewhere: NDArray[np.uint64] = _NO_IDS,
    acknowledged: NDArray[np.uint64] = _NO_IDS,
) -> Measured:
    """Return the cost of a move for one group and topic partition.

    *before* has the records it read at the source, with the source's offsets; *after* those it read at the target, to
    the end of *target*, the target's whole log. *captured_offset* is the last commit known to the translation (0:
    none). *read_elsewhere* are records it had read at other clusters before. *acknowledged* are all records that
    producers know to be written, to count those that were never mirrored.

    A record is lost if it is in the target's log and the group read it neither before nor after, even if no producer
    got its acknowledgement: the strict definition. A duplicate is an offset of the target: a record that the mirror
    sent twice can be two, an offset read twice after the move is one.
    """
    known = np.union1d(before.ids, read_elsewhere)
    reread = _ids_by_offset(after)
    is_duplicate = np.isin(reread, known)
    is_past_commit = np.isin(reread, _first_read_from(before, captured_offset, read_elsewhere))
    lost = np.setdiff1d(target.ids, np.union1d(known, after.ids))
    return Measured(
        read_before=len(known),
        read_after=len(after),
        duplicates=int(is_duplicate.sum()),
        past_commit=int((is_duplicate & is_past_commit).sum()),
        lost=len(lost),
        not_at_target=len(np.setdiff1d(acknowledged, target.ids)),
        lost_ids=tuple(int(each) for each in lost[:10]),
    )


def compare_group(
    before: Mapping[Partition, Records],
    after: Mapping[Partition, Records],
    target: Mapping[Partition, Records],
    captured: Mapping[Partition, int],
    *,
    read_elsewhere: Mapping[Partition, NDArray[np.uint64]] | None = None,
    acknowledged: Mapping[Partition, NDArray[np.uint64]] | None = None,
) -> Measured:
    """Return :func:`compare` summed over every partition of *target*."""
    elsewhere, written = read_elsewhere or {}, acknowledged or {}
    return total(
        compare(
            before.get(place, no_records()),
            after.get(place, no_records()),
            log,
            captured.get(place, 0),
            read_elsewhere=elsewhere.get(place, _NO_IDS),
            acknowledged=written.get(place, _NO_IDS),
        )
        for place, log in target.items()
    )


def total(parts: Iterable[Measured]) -> Measured:
    """Return the sum."""
    return sum(parts, Measured())


def _ids_by_offset(records: Records) -> NDArray[np.uint64]:
    """Return the ids, with each offset once."""
    _, first = np.unique(records.offsets, return_index=True)
    return records.ids[first]


def _first_read_from(before: Records, offset: int, elsewhere: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the ids that are at the source at or above *offset* only, and were read nowhere else."""
    below = np.union1d(before.ids[before.offsets < offset], elsewhere)
    return np.setdiff1d(before.ids, below)
