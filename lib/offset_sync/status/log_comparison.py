"""What each log of a partition holds and the other lacks: what can be said without knowing of any group."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN
from offset_sync.translate.partition_log import PartitionMetadata
from offset_sync.translate.replication_gap import OffsetRanges, ReplicationGap, deleted_of, joined, replication_gap

NO_END = int(np.iinfo(np.int64).max)
_NEWEST = 10_000
"""Where no record is as young as the window, the share of each origin is taken from this many newest records."""


@dataclass(frozen=True)
class LogPair:
    """Both logs of a partition; metadata is None where the cluster, or the partition's leader, does not answer.

    *source_origin* and *target_origin* are the clusters' codes as origins, *origin_names* the aliases of all codes.
    Times are in milliseconds since the epoch. Records of the source from *snapshot_end* on came in after the clusters
    were asked, so they are not missing at the target. What became visible after *young_since_ms* may still change, and
    what the source lacks after *unread_since_ms*, where its index may be behind. *is_unstamped*: the mirror stamps no
    headers, and only timestamps tell how far it has come.
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
        """Return *log* as it is now, or of a partition that is not indexed an empty one that begins where it does."""
        return log.view() if log is not None else LogIndex(metadata.log_start if metadata is not None else 0)

    def version(self) -> tuple[int, ...]:
        """Return what changes when either log does, as long as they live."""
        logs = (self.source, self.target)
        parts = (part for log in logs for part in (log.begin, log.frontier, log.is_contradicted))
        return (*parts, min(self.snapshot_end, self.source.frontier))


@dataclass(frozen=True)
class LogComparison:
    """Ranges of offsets in the source's log, and counts of records.

    *pending*: what the target lacks and may yet get; *arriving*: how many of them a mirror is known to bring;
    *not_mirrored*: what it would never get without the source; *deleted*: what it would not get with it either,
    dropped on its way from elsewhere or deleted. *pending_since_ms*: when the oldest pending record was indexed, 0
    where none is. *gaps*: records of the target that the source will never get. *is_settling*: some of this changes
    with time alone.
    """

    records: OffsetRanges
    pending: OffsetRanges
    not_mirrored: OffsetRanges
    deleted: OffsetRanges
    copies: OffsetRanges
    arriving: int
    pending_since_ms: int
    gaps: int
    lag_by_origin: str
    origin_share: str
    is_settling: bool


def compare_logs(logs: LogPair) -> LogComparison:
    """Compare both logs; errs to more that is pending, not mirrored and deleted."""
    source, own = logs.source, logs.source_origin
    all_missing = _missing_by_time(logs) if logs.is_unstamped else _missing_by_origin(logs)
    missing = {origin: gap.below(logs.snapshot_end) for origin, gap in all_missing.items()}
    gaps_at_source = {} if logs.is_unstamped else _missing_at_source(logs)
    pending = joined([gap.pending for gap in missing.values()])
    own_gap = missing.get(own, ReplicationGap(OffsetRanges.none(), OffsetRanges.none()))
    deleted = [gap.skipped for origin, gap in missing.items() if origin != own]
    if not logs.is_unstamped:
        deleted.append(deleted_of(logs.target_origin, source, logs.target).below(logs.snapshot_end))
    copies = logs.target.positions(own)
    mirrored_origins = logs.target.origins | {own}
    pending_by_origin = {origin: gap.pending.total for origin, gap in missing.items()}
    return LogComparison(
        records=OffsetRanges(source.runs.start, source.runs.length),
        pending=pending,
        not_mirrored=joined([own_gap.pending, own_gap.skipped]),
        deleted=joined(deleted),
        copies=OffsetRanges(copies.start, copies.end - copies.start),
        arriving=sum(count for origin, count in pending_by_origin.items() if origin in mirrored_origins),
        pending_since_ms=source.indexing_times.indexed_at_ms(int(pending.start[0])) if len(pending.start) else 0,
        gaps=sum(gap.skipped.total for gap in gaps_at_source.values()),
        lag_by_origin=json.dumps(_by_name(logs, pending_by_origin)),
        origin_share=json.dumps(_origin_shares(logs)),
        is_settling=any(gap.is_settling for gap in (*missing.values(), *gaps_at_source.values())),
    )


def _missing_by_origin(logs: LogPair) -> dict[int, ReplicationGap]:
    """Return, per origin, what the target lacks of what others have produced."""
    source, target = logs.source, logs.target
    origins = (source.origins | {logs.source_origin}) - {logs.target_origin, UNKNOWN_ORIGIN}
    missing = {origin: replication_gap(origin, source, target, logs.young_since_ms) for origin in sorted(origins)}
    if UNKNOWN_ORIGIN in source.origins:
        unknown = source.unknown_ranges
        own = missing[logs.source_origin]
        # Their headers cannot be read, so they are taken for the source's own that the target lacks.
        unreadable = joined([own.skipped, OffsetRanges(*unknown)])
        missing[logs.source_origin] = ReplicationGap(own.pending, unreadable, own.is_settling)
    return missing


def _missing_by_time(logs: LogPair) -> dict[int, ReplicationGap]:
    """Return as pending what is newer than everything the target has; equal timestamps cannot be told apart."""
    here, there = logs.source.times, logs.target.times
    pending = OffsetRanges(logs.source.runs.start, logs.source.runs.length)
    if here is not None and there is not None and len(there):
        row = int(np.searchsorted(here.greatest_to, there.greatest_to[-1], "right"))
        pending = pending.from_offset(int(here.start[row]) if row < len(here) else logs.source.frontier)
    return {logs.source_origin: ReplicationGap(pending, OffsetRanges.none())}


def _missing_at_source(logs: LogPair) -> dict[int, ReplicationGap]:
    """Return, per origin, what the target has and the source lacks."""
    origins = logs.target.origins - {logs.source_origin, UNKNOWN_ORIGIN}
    return {origin: replication_gap(origin, logs.target, logs.source, logs.young_since_ms) for origin in origins}


def _origin_shares(logs: LogPair) -> dict[str, float]:
    """Return the share of each origin in the records of the window, or in the newest ones where it has none."""
    log = logs.source
    since = log.indexing_times.first_since(logs.share_since_ms)
    runs = log.paged.from_offset(since if since is not None else max(0, log.frontier - _NEWEST))
    if len(runs) == 0:
        return {}
    counts = {int(origin): int(runs.length[runs.origin == origin].sum()) for origin in np.unique(runs.origin)}
    total = sum(counts.values())
    return {name: round(count / total, 4) for name, count in _by_name(logs, counts).items()}


def _by_name(logs: LogPair, counts: Mapping[int, int]) -> dict[str, int]:
    """Return *counts* by alias; origins that are no cluster of ours are summed as ``?``."""
    named: dict[str, int] = {}
    for origin in sorted(counts):
        name = logs.origin_names.get(origin, "?")
        named[name] = named.get(name, 0) + counts[origin]
    return named
