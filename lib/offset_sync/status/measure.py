"""What one partition's two logs say about groups that committed on one side and stand on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from offset_sync.status.log_comparison import LogComparison, LogPair
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.position_cost import position_cost

NOBODY_KNOWS = -1


@dataclass(frozen=True)
class Measured:
    """One row per commit, arrays of shape (commits,); :data:`NOBODY_KNOWS` where an end is not known.

    *repeats*, *skipped*, *is_outside*, *unread*, *fresh*, *late*, *arriving*, *unknown* and *is_untold* as in
    ``status.Facts``;
    *not_mirrored* are the source's own unread records that the target lacks, for good if the source never comes back;
    *gone* those that it will not get from elsewhere either.
    """

    repeats: Int64s
    skipped: Int64s
    is_outside: NDArray[np.bool_]
    unread: Int64s
    fresh: Int64s
    late: Int64s
    arriving: Int64s
    not_mirrored: Int64s
    gone: Int64s
    unknown: Int64s
    is_untold: NDArray[np.bool_]
    mirror_lag: Int64s
    late_since_ms: Int64s
    mirror_gaps: Int64s
    source_end: Int64s
    target_end: Int64s
    lag_by_origin: NDArray[np.object_]
    origin_share: NDArray[np.object_]

    def mirror_lag_ms(self, now_ms: int) -> Int64s:
        """Return the age of each partition's oldest late record, 0 where none is late; shape (commits,)."""
        age: Int64s = np.where(self.mirror_lag > 0, np.maximum(now_ms - self.late_since_ms, 0), 0)
        return age

    @classmethod
    def joined(cls, parts: Sequence[Measured]) -> Measured:
        """Return the rows of all *parts*, in order."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def measure(sides: LogPair, held: LogComparison, committed: Int64s, wanted: Int64s, standing: Int64s) -> Measured:
    """Measure every group that *committed* at the source and has *standing* at the target (negative: nothing).

    *wanted* is the translation, negative where it is withheld. Errs to more unread, more late, more not mirrored.
    """
    count = len(committed)
    source_end, target_end = end_of(sides.source_view), end_of(sides.target_view)
    unindexed, unindexed_missing = _unindexed(sides, held, committed, source_end)
    behind_here = max(0, source_end - sides.source.frontier)
    behind_there = max(0, target_end - sides.target.frontier)
    repeats, skipped = _difference(sides, committed, wanted, standing)
    return Measured(
        repeats=repeats,
        skipped=skipped,
        is_outside=_is_outside(sides.target_view, standing),
        unread=held.records.count_from(committed) + unindexed,
        fresh=held.records.count_from(np.maximum(committed, sides.source_until)),
        late=held.pending.count_from(committed) + unindexed_missing,
        arriving=np.full(count, held.arriving),
        not_mirrored=held.kept_back.count_from(committed) + unindexed_missing,
        gone=held.gone.count_from(committed),
        # What is read at the source and not indexed may stand above at the target.
        unknown=np.maximum(unindexed, behind_here) + behind_there,
        is_untold=np.full(count, sides.is_unstamped),
        mirror_lag=np.full(count, held.pending.total),
        late_since_ms=np.full(count, held.late_since_ms),
        mirror_gaps=np.full(count, held.gaps),
        source_end=np.full(count, source_end),
        target_end=np.full(count, target_end),
        lag_by_origin=np.full(count, held.lag_by_origin, np.object_),
        origin_share=np.full(count, held.origin_share, np.object_),
    )


def end_of(view: PartitionMetadata | None) -> int:
    """Return the log end, :data:`NOBODY_KNOWS` where the cluster, or the partition's leader, does not answer."""
    return view.log_end if view is not None and view.topic_id is not None else NOBODY_KNOWS


def _unindexed(sides: LogPair, held: LogComparison, committed: Int64s, source_end: int) -> tuple[Int64s, Int64s]:
    """Return how many offsets from the commit on no index of the source covers, and how many the target lacks.

    Before its index begins and beyond its frontier. What the target has from there is known by its origin offset.
    """
    begin, frontier = sides.source.begin, sides.source.frontier
    first = np.maximum(committed, sides.source_view.log_start if sides.source_view is not None else 0)
    count, lacking = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    for low, end in ((first, begin), (np.maximum(committed, frontier), source_end)):
        high = np.full(len(committed), end)
        offsets = np.maximum(high - low, 0)
        if offsets.any():
            count += offsets
            lacking += np.where(offsets > 0, offsets - held.copies.count_between(low, high), 0)
    return count, lacking


def _difference(sides: LogPair, committed: Int64s, wanted: Int64s, standing: Int64s) -> tuple[Int64s, Int64s]:
    repeats, skipped = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    rows = np.flatnonzero((wanted >= 0) & (standing >= 0) & (wanted != standing))
    if len(rows):
        log_start = sides.target_view.log_start if sides.target_view is not None else 0
        found = position_cost(
            committed[rows],
            wanted[rows],
            np.maximum(standing[rows], log_start),
            PartitionLog(sides.source, sides.source_code),
            PartitionLog(sides.target, sides.target_code),
            sides.young_since_ms,
        )
        # Nobody knows what stands between the index and an offset beyond it: taken as unread.
        frontier = np.maximum(sides.target.frontier, wanted[rows])
        beyond = np.minimum(standing[rows], end_of(sides.target_view)) - frontier
        repeats[rows], skipped[rows] = found.repeats, found.skipped + np.maximum(beyond, 0)
    return repeats, skipped


def _is_outside(view: PartitionMetadata | None, standing: Int64s) -> NDArray[np.bool_]:
    """Return where the target holds an offset that its log does not: a consumer would go where its options say."""
    if view is None:
        return np.zeros(len(standing), np.bool_)
    is_outside: NDArray[np.bool_] = (standing >= 0) & ((standing < view.log_start) | (standing > view.log_end))
    return is_outside
