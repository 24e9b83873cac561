"""Measures a group's commit at the source and its position at the target by the two logs of one partition.

Also counts the records that only one of the logs has, from the groups' positions on, page by page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np

from offset_sync.model.values import ABSENT
from offset_sync.state.key_index import KeyRows
from offset_sync.status.assessment import Assessment, Bools, Codes
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s
from offset_sync.translate.partition import IS_WITHHELD
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.position_cost import position_cost
from offset_sync.translate.replication_gap import (
    OffsetCounts,
    OffsetRanges,
    ReplicationGap,
    copies_between,
    deleted_of,
    replication_gaps,
)


@dataclass(frozen=True)
class Decided:
    """Commits of one partition and what was decided of each, shape (commits,); see ``Translations``."""

    offset: Int64s
    state: Codes
    wanted: Int64s
    duplicates: Int64s
    duplicates_at_most: Int64s
    lost: Int64s


NO_END = int(np.iinfo(np.int64).max)
_NEWEST = 10_000
"""If no record is as young as the window, the share of each origin is that in this many newest records."""


@dataclass(frozen=True)
class LogPair:
    """Both logs of a partition; metadata is None where the cluster, or the partition's leader, does not answer.

    *source_origin* and *target_origin* are the clusters' codes as origins, *origin_names* the aliases of all codes.
    Times are in milliseconds since the epoch. Records of the source from *snapshot_end* on were produced after the
    clusters were asked, so they are not missing at the target. Results for records indexed after *young_since_ms* may
    still change, as may records missing at the source after *unread_since_ms*, where its index may be behind.
    *is_unstamped*: the mirror stamps no headers, and only timestamps tell its progress.
    """

    source_origin: int
    target_origin: int
    source: LogIndex
    target: LogIndex
    source_metadata: PartitionMetadata | None
    target_metadata: PartitionMetadata | None
    origin_names: Mapping[int, str]
    young_since_ms: int
    unread_since_ms: int
    share_since_ms: int
    snapshot_end: int = NO_END
    is_unstamped: bool = False

    @classmethod
    def view_or_empty(cls, log: LogIndex | None, metadata: PartitionMetadata | None) -> LogIndex:
        """Return a view of *log*; for an unindexed partition an empty log from its log start on.

        A truncated log is viewed below the truncation.
        """
        if log is None:
            return LogIndex(metadata.log_start if metadata is not None else 0)
        cut_at = metadata.cut_at if metadata is not None else None
        return log.view() if cut_at is None else log.view().below(cut_at)


@dataclass
class LogComparison:
    """Records of the source's log, counted from each of the requested offsets.

    *pending*: not at the target yet; *arriving*: those of them that a mirror is known to copy; *not_mirrored*: those
    it would never get without the source; *deleted*: those it will never get, dropped on the way from elsewhere or
    deleted. *pending_since_ms*: when the oldest pending record was indexed, 0 for none.
    """

    pending: OffsetCounts
    not_mirrored: OffsetCounts
    deleted: OffsetCounts
    arriving: int = 0
    pending_since_ms: int = 0
    origin_share: str = "{}"


def compare_logs(logs: LogPair, committed: Int64s) -> LogComparison:
    """Compare both logs, for groups that have *committed* these offsets at the source, shape (commits,).

    Errs to more pending, not mirrored and deleted. Takes as much memory as a few pages of either log.
    """
    found = LogComparison(OffsetCounts(committed), OffsetCounts(committed), OffsetCounts(committed))
    lag: dict[int, int] = {}
    for origin, whole in _missing_by_time(logs) if logs.is_unstamped else _missing_by_origin(logs):
        gap = whole.below(logs.snapshot_end)
        found.pending.add(gap.pending)
        lag[origin] = lag.get(origin, 0) + gap.pending.total
        if origin == logs.source_origin:
            found.not_mirrored.add(gap.pending)
            found.not_mirrored.add(gap.skipped)
        else:
            found.deleted.add(gap.skipped)
    if not logs.is_unstamped:
        for deleted in deleted_of(logs.target_origin, logs.source, logs.target):
            found.deleted.add(deleted.below(logs.snapshot_end))
    mirrored_origins = logs.target.origins | {logs.source_origin}
    found.arriving = sum(count for origin, count in lag.items() if origin in mirrored_origins)
    if found.pending.total:
        found.pending_since_ms = logs.source.indexing_times.indexed_at_ms(found.pending.first)
    found.origin_share = json.dumps(_origin_shares(logs))
    return found


def _missing_by_origin(logs: LogPair) -> Iterator[tuple[int, ReplicationGap]]:
    """Yield the records of other origins that the target does not have, by origin."""
    source, target = logs.source, logs.target
    for origin in sorted(_known(source.origins | {logs.source_origin}) - {logs.target_origin}):
        yield from ((origin, gap) for gap in replication_gaps(origin, source, target, logs.young_since_ms))
    # Records with unreadable headers count as the source's own, missing at the target.
    yield logs.source_origin, ReplicationGap(OffsetRanges.none(), OffsetRanges(*source.unknown_ranges))


def _missing_by_time(logs: LogPair) -> Iterator[tuple[int, ReplicationGap]]:
    """Yield as pending the records newer than all at the target; equal timestamps are indistinguishable."""
    source, here, there = logs.source, logs.source.times, logs.target.times
    first = source.begin
    if here is not None and there is not None and len(there):
        row = int(np.searchsorted(here.greatest_to, there.greatest_to[-1], "right"))
        first = int(here.start[row]) if row < len(here) else source.frontier
    yield logs.source_origin, ReplicationGap(OffsetRanges.none(), OffsetRanges.none())
    for runs in source.paged.parts(first, source.frontier):
        yield logs.source_origin, ReplicationGap(OffsetRanges(runs.start, runs.length), OffsetRanges.none())


def _known(codes: AbstractSet[int]) -> set[int]:
    """Return the origins whose records have an identity."""
    return set(codes) - {UNKNOWN_ORIGIN}


def _origin_shares(logs: LogPair) -> dict[str, float]:
    """Return the share of each origin in the records of the window, or in the newest ones if it has none."""
    log = logs.source
    since = log.indexing_times.first_since(logs.share_since_ms)
    first = since if since is not None else max(0, log.frontier - _NEWEST)
    counts = log.paged.records_by_origin(first, log.frontier)
    total = sum(counts.values())
    return {name: round(count / total, 4) for name, count in _by_name(logs, counts).items()}


def _by_name(logs: LogPair, counts: Mapping[int, int]) -> dict[str, int]:
    """Return *counts* by alias; origins that are not our clusters are summed as ``?``."""
    named: dict[str, int] = {}
    for origin in sorted(counts):
        name = logs.origin_names.get(origin, "?")
        named[name] = named.get(name, 0) + counts[origin]
    return named


def measure(
    logs: LogPair,
    comparison: LogComparison,
    key: KeyRows,
    commits: Decided,
    target_offset: Int64s,
) -> Assessment:
    """Assess *commits* of one partition, with their answers, against their groups' offsets at the target.

    Errs to more unread, more pending, more not mirrored. The *comparison* is from :func:`readable_from` on.
    """
    committed, answers, readable = commits.offset, commits, readable_from(logs, commits.offset)
    left = np.maximum(committed, _log_start(logs))
    source_end, target_end = log_end(logs.source_metadata), log_end(logs.target_metadata)
    beyond_index, missing_beyond_index = _beyond_index(logs, left, source_end)
    repeats, skipped = cost_at(logs, committed, answers, target_offset)
    not_mirrored = comparison.not_mirrored.count_from(readable) + missing_beyond_index
    deleted = comparison.deleted.count_from(readable)
    unindexed_source = np.maximum(beyond_index, max(0, source_end - logs.source.frontier))
    return Assessment(
        key=key,
        source_offset=committed,
        state=answers.state,
        wanted_offset=answers.wanted,
        duplicates=np.maximum(answers.duplicates + repeats, 0),
        duplicates_at_most=np.maximum(answers.duplicates_at_most + repeats, 0),
        lost=answers.lost + skipped + not_mirrored + deleted,
        target_offset=target_offset,
        is_outside=(target_offset != ABSENT) & is_outside(logs.target_metadata, target_offset),
        repeats=repeats,
        skipped=skipped,
        unread=logs.source.paged.records_from(left, logs.source.frontier) + beyond_index,
        unread_newer=logs.source.paged.records_from(np.maximum(left, logs.snapshot_end), logs.source.frontier),
        pending=comparison.pending.count_from(readable) + missing_beyond_index,
        not_mirrored=not_mirrored,
        deleted=deleted,
        # Records read at the source beyond its index may be above the group's position at the target.
        unindexed=unindexed_source + max(0, target_end - logs.target.frontier),
        **_of_partition(logs, comparison, len(committed)),
    )


def _of_partition(logs: LogPair, comparison: LogComparison, count: int) -> dict[str, Any]:
    """Return the columns that are the same for all *count* groups of the partition."""
    values: dict[str, Any] = {
        "arriving": comparison.arriving,
        "is_unstamped": logs.is_unstamped,
        "source_end": log_end(logs.source_metadata),
        "target_end": log_end(logs.target_metadata),
        "mirror_lag": comparison.pending.total,
        "pending_since_ms": comparison.pending_since_ms,
        "origin_share": comparison.origin_share,
    }
    return {name: np.full(count, each, object if isinstance(each, str) else None) for name, each in values.items()}


def readable_from(logs: LogPair, committed: Int64s) -> Int64s:
    """Return the first offsets from which groups can still read records, each at its first place, at the source.

    A move cannot lose records that the source has deleted. Returns the commits themselves if the source does not
    answer, and if the log has late or repeated records, which may be at a later place.
    """
    return committed if logs.source.reorder_count() else np.maximum(committed, _log_start(logs))


def _log_start(logs: LogPair) -> int:
    return logs.source_metadata.log_start if logs.source_metadata is not None else 0


def log_end(metadata: PartitionMetadata | None) -> int:
    """Return the log end; ABSENT where the cluster or the leader does not answer, or the topic does not exist."""
    return metadata.log_end if metadata is not None and metadata.topic_id is not None else ABSENT


def _beyond_index(logs: LogPair, left: Int64s, source_end: int) -> tuple[Int64s, Int64s]:
    """Return how many offsets from *left* on the source's index does not cover, and how many are not at the target.

    Before its index begins, and beyond its frontier. The target's copies of them are known by their origin offset.
    """
    begin, frontier = logs.source.begin, logs.source.frontier
    count, missing = np.zeros((2, len(left)), np.int64)
    for low, end in ((left, begin), (np.maximum(left, frontier), source_end)):
        high = np.full(len(left), end)
        offsets = np.maximum(high - low, 0)
        if offsets.any():
            count += offsets
            missing += np.where(offsets > 0, offsets - copies_between(logs.source_origin, logs.target, low, high), 0)
    return count, missing


def cost_at(logs: LogPair, committed: Int64s, answers: Decided, target_offset: Int64s) -> tuple[Int64s, Int64s]:
    """Return what each group repeats and skips at *target_offset*, compared with the translation; 0 without both.

    Repeats are negative where the group has read the records it would skip.
    """
    repeats, skipped = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    is_elsewhere = ~IS_WITHHELD[answers.state] & (target_offset != ABSENT) & (answers.wanted != target_offset)
    rows = np.flatnonzero(is_elsewhere)
    if len(rows):
        position, wanted = target_offset[rows], answers.wanted[rows]
        log_start = logs.target_metadata.log_start if logs.target_metadata is not None else 0
        found = position_cost(
            committed[rows],
            wanted,
            np.maximum(position, log_start),
            PartitionLog(logs.source, logs.source_origin),
            PartitionLog(logs.target, logs.target_origin),
            logs.unread_since_ms,
        )
        # Records between the end of the index and a position beyond it are unknown, so they count as unread.
        frontier = np.maximum(logs.target.frontier, wanted)
        unknown = np.minimum(position, log_end(logs.target_metadata)) - frontier
        repeats[rows], skipped[rows] = found.repeats, found.skipped + np.maximum(unknown, 0)
    return repeats, skipped


def is_outside(metadata: PartitionMetadata | None, offset: Int64s) -> Bools:
    """Return where *offset* is outside the log: there a consumer's own auto.offset.reset applies."""
    if metadata is None:
        return np.zeros(len(offset), np.bool_)
    is_outside: Bools = (offset < metadata.log_start) | (offset > metadata.log_end)
    return is_outside
