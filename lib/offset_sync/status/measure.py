"""Counts records of the two logs of one partition: from groups' commits at the source and positions at the target on.

Records that only one of the logs has are counted page by page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT
from offset_sync.state.translator import Question
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.read_window import position_cost
from offset_sync.translate.replication_gap import (
    OffsetCounts,
    OffsetRanges,
    ReplicationGap,
    deleted_of,
    replication_gaps,
)

NO_END = int(np.iinfo(np.int64).max)
_NO_ROWS = np.empty(0, np.int64)
_NEWEST = 10_000
"""The shares of origins are those in this many newest offsets."""


@dataclass(frozen=True)
class Counts:
    """Records, by group; every column has shape (commits,). Errs to more of all."""

    repeats: Int64s  # from the position up to the answer; negative where the position is above it
    skipped: Int64s  # unread, below the position
    unread: Int64s  # from the commit on, produced before the clusters were asked
    pending: Int64s  # unread, and may yet come to the target
    not_mirrored: Int64s  # unread, the source's own, not at the target: lost if the source never comes back
    deleted: Int64s  # unread, dropped on the way from elsewhere, or deleted: the target will not have them
    unindexed: Int64s  # not indexed yet, at either side


def measure(
    asked: Question, young_since_ms: int, is_unstamped: bool, committed: Int64s, wanted: Int64s, position: Int64s
) -> tuple[Counts, OffsetCounts]:
    """Return the counts for groups that have *committed* these offsets, and the *position* of each at the target.

    All have shape (commits,); *wanted* are the answers, ABSENT where withheld; no position is ABSENT too. Also all
    records that a mirror is known to copy and that are not at the target. Records of the source from its log end on
    were produced after the clusters were asked, so they are not missing. *is_unstamped*: the mirror stamps no headers,
    and only timestamps tell its progress.
    """
    assert asked.logs is not None
    here, there = asked.logs
    source, target = below_cut(here), below_cut(there)
    source_end, target_end = log_end(asked.said), log_end(there.metadata)
    snapshot_end = source_end if source_end != ABSENT else NO_END
    left = np.maximum(committed, here.log_start)
    # A move cannot lose records that the source has deleted. Late and repeated records may be at a later place.
    readable = committed if source.reorder_count() else left
    pending, not_mirrored, deleted = (OffsetCounts(readable) for _ in range(3))
    late, mirrored = OffsetCounts(_NO_ROWS), target.origins | {here.origin}
    for origin, whole in _missing(here.origin, there.origin, source, target, None if is_unstamped else young_since_ms):
        gap = whole.below(snapshot_end)
        pending.add(gap.pending)
        if origin in mirrored:
            late.add(gap.pending)
        if origin == here.origin:
            not_mirrored.add(gap.pending)
            not_mirrored.add(gap.skipped)
        else:
            deleted.add(gap.skipped)
    if not is_unstamped:
        for gone in deleted_of(there.origin, source, target):
            deleted.add(gone.below(snapshot_end))
    beyond = _beyond_index(source, left, source_end)
    newer = source.paged.records_from(np.maximum(left, snapshot_end), source.frontier)
    repeats, skipped = _cost_at(asked, source, target, committed, wanted, position)
    return Counts(
        repeats=repeats,
        skipped=skipped,
        unread=source.paged.records_from(left, source.frontier) - newer + beyond,
        pending=pending.count_from(readable) + beyond,
        not_mirrored=not_mirrored.count_from(readable) + beyond,
        deleted=deleted.count_from(readable),
        # Records read at the source beyond its index may be above the group's position at the target.
        unindexed=np.maximum(beyond, source_end - source.frontier) + max(0, target_end - target.frontier),
    ), late


def below_cut(log: PartitionLog) -> LogIndex:
    """Return the index of a log, below its truncation if there was one; of an unindexed log from its log start on."""
    if not log.is_indexed:
        return LogIndex(log.log_start)
    cut_at = log.metadata.cut_at
    return log.index if cut_at is None else log.index.below(cut_at)


def log_end(metadata: PartitionMetadata | None) -> int:
    """Return the log end; ABSENT where the cluster or the leader does not answer, or the topic does not exist."""
    return metadata.log_end if metadata is not None and metadata.topic_id is not None else ABSENT


def is_outside(metadata: PartitionMetadata, offset: Int64s) -> NDArray[np.bool_]:
    """Return where *offset* is outside the log: there a consumer's own auto.offset.reset applies."""
    outside: NDArray[np.bool_] = (offset != ABSENT) & ((offset < metadata.log_start) | (offset > metadata.log_end))
    return outside


def _missing(
    own: int, targets: int, source: LogIndex, target: LogIndex, young_since_ms: int | None
) -> Iterator[tuple[int, ReplicationGap]]:
    """Yield the records that the target does not have, by origin: *own* is the source's, *targets* the target's.

    Without headers (*young_since_ms* is None) those are pending that are newer than all at the target; equal timestamps
    are indistinguishable.
    """
    none = OffsetRanges.none()
    if young_since_ms is None:
        first, here, there = source.begin, source.times, target.times
        if here is not None and there is not None and len(there):
            row = int(np.searchsorted(here.greatest_to, there.greatest_to[-1], "right"))
            first = int(here.start[row]) if row < len(here) else source.frontier
        for runs in source.paged.parts(first, source.frontier):
            yield own, ReplicationGap(OffsetRanges(runs.start, runs.length), none)
        return
    for origin in sorted((source.origins | {own}) - {targets, UNKNOWN_ORIGIN}):
        yield from ((origin, gap) for gap in replication_gaps(origin, source, target, young_since_ms))
    # Records with unreadable headers count as the source's own, missing at the target.
    yield own, ReplicationGap(none, OffsetRanges(*source.unknown_ranges))


def _beyond_index(source: LogIndex, left: Int64s, source_end: int) -> Int64s:
    """Return how many offsets from *left* on the source's index does not cover: not known to be at the target."""
    beyond: Int64s = np.maximum(source_end - np.maximum(left, source.frontier), 0)
    return beyond + np.maximum(source.begin - left, 0)


def _cost_at(
    asked: Question, source: LogIndex, target: LogIndex, committed: Int64s, wanted: Int64s, position: Int64s
) -> tuple[Int64s, Int64s]:
    """Return what each group repeats and skips at its *position*, compared with the answer; 0 without both."""
    assert asked.logs is not None
    assert asked.bounds is not None
    (here, there), repeats, skipped = asked.logs, *np.zeros((2, len(committed)), np.int64)
    rows = np.flatnonzero((wanted != ABSENT) & (position != ABSENT) & (wanted != position))
    if len(rows):
        logs = PartitionLog(source, here.origin), PartitionLog(target, there.origin)
        at = np.maximum(position[rows], there.log_start)
        found = position_cost(committed[rows], wanted[rows], at, *logs, asked.bounds.young_since_ms)
        # Records between the end of the index and a position beyond it are unknown, so they count as unread.
        unknown = np.minimum(position[rows], log_end(there.metadata)) - np.maximum(target.frontier, wanted[rows])
        repeats[rows], skipped[rows] = found[0], found[1] + np.maximum(unknown, 0)
    return repeats, skipped


def origin_shares(log: LogIndex, names: Mapping[int, str]) -> str:
    """Return the share of each origin in the newest records, as JSON.

    Origins that are not our clusters are summed as ``?``.
    """
    counts = Counter[str]()
    for origin, count in sorted(log.paged.records_by_origin(max(0, log.frontier - _NEWEST), log.frontier).items()):
        counts[names.get(origin, "?")] += count
    return json.dumps({name: round(count / counts.total(), 4) for name, count in counts.items()})
