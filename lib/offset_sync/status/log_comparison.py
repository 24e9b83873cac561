"""What each log of a partition holds and the other lacks, counted from where groups stand; page by page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from offset_sync.translate.index.bounds import origin_of
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s
from offset_sync.translate.partition_log import PartitionMetadata
from offset_sync.translate.replication_gap import (
    OffsetCounts,
    OffsetRanges,
    ReplicationGap,
    deleted_of,
    replication_gaps,
)

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
        """Return *log* as it is now, or of a partition that is not indexed an empty one that begins where it does.

        Of one that was cut what lies below the cut.
        """
        if log is None:
            return LogIndex(metadata.log_start if metadata is not None else 0)
        cut_at = metadata.cut_at if metadata is not None else None
        return log.view() if cut_at is None else log.view().below(cut_at)

    def version(self) -> tuple[int, ...]:
        """Return what changes when either log does, as long as they live."""
        logs = (self.source, self.target)
        parts = (part for log in logs for part in (log.begin, log.frontier, log.is_contradicted))
        return (*parts, min(self.snapshot_end, self.source.frontier))


@dataclass
class LogComparison:
    """Records of the source's log, counted from each of the offsets that were asked for.

    *pending*: what the target lacks and may yet get; *arriving*: how many of them a mirror is known to bring;
    *not_mirrored*: what it would never get without the source; *deleted*: what it would not get with it either,
    dropped on its way from elsewhere or deleted. *pending_since_ms*: when the oldest pending record was indexed, 0
    where none is. *gaps*: records of the target that the source will never get. *is_settling*: some of this changes
    with time alone.
    """

    pending: OffsetCounts
    not_mirrored: OffsetCounts
    deleted: OffsetCounts
    arriving: int = 0
    pending_since_ms: int = 0
    gaps: int = 0
    lag_by_origin: str = "{}"
    origin_share: str = "{}"
    is_settling: bool = False


def compare_logs(logs: LogPair, committed: Int64s) -> LogComparison:
    """Compare both logs, for groups that have *committed* these offsets at the source, shape (commits,).

    Errs to more that is pending, not mirrored and deleted. Takes as much memory as a few pages of either log.
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
        found.is_settling |= gap.is_settling
    if not logs.is_unstamped:
        for deleted in deleted_of(logs.target_origin, logs.source, logs.target):
            found.deleted.add(deleted.below(logs.snapshot_end))
        for gap in _missing_at_source(logs):
            found.gaps += gap.skipped.total
            found.is_settling |= gap.is_settling
    mirrored_origins = logs.target.origins | {logs.source_origin}
    found.arriving = sum(count for origin, count in lag.items() if origin in mirrored_origins)
    if found.pending.total:
        found.pending_since_ms = logs.source.indexing_times.indexed_at_ms(found.pending.first)
    found.lag_by_origin, found.origin_share = json.dumps(_by_name(logs, lag)), json.dumps(_origin_shares(logs))
    return found


def _missing_by_origin(logs: LogPair) -> Iterator[tuple[int, ReplicationGap]]:
    """Yield, with its origin, what the target lacks of what others have produced."""
    source, target = logs.source, logs.target
    for origin in sorted(_known(source.origins | {logs.source_origin}) - {logs.target_origin}):
        yield from ((origin, gap) for gap in replication_gaps(origin, source, target, logs.young_since_ms))
    # Their headers cannot be read, so they are taken for the source's own that the target lacks.
    yield logs.source_origin, ReplicationGap(OffsetRanges.none(), OffsetRanges(*source.unknown_ranges))


def _missing_by_time(logs: LogPair) -> Iterator[tuple[int, ReplicationGap]]:
    """Yield as pending what is newer than everything the target has; equal timestamps cannot be told apart."""
    source, here, there = logs.source, logs.source.times, logs.target.times
    first = source.begin
    if here is not None and there is not None and len(there):
        row = int(np.searchsorted(here.greatest_to, there.greatest_to[-1], "right"))
        first = int(here.start[row]) if row < len(here) else source.frontier
    yield logs.source_origin, ReplicationGap(OffsetRanges.none(), OffsetRanges.none())
    for runs in source.paged.parts(first, source.frontier):
        yield logs.source_origin, ReplicationGap(OffsetRanges(runs.start, runs.length), OffsetRanges.none())


def _missing_at_source(logs: LogPair) -> Iterator[ReplicationGap]:
    """Yield what the target has and the source lacks."""
    for origin in _known(logs.target.origins) - {logs.source_origin}:
        yield from replication_gaps(origin, logs.target, logs.source, logs.young_since_ms)


def _known(codes: AbstractSet[int]) -> set[int]:
    """Return the origins whose records have an identity: what is missing of others, only bounded, is not known."""
    return {code for code in codes if code > UNKNOWN_ORIGIN}


def _origin_shares(logs: LogPair) -> dict[str, float]:
    """Return the share of each origin in the records of the window, or in the newest ones where it has none."""
    log = logs.source
    since = log.indexing_times.first_since(logs.share_since_ms)
    first = since if since is not None else max(0, log.frontier - _NEWEST)
    counts = log.paged.records_by_origin(first, log.frontier)
    total = sum(counts.values())
    return {name: round(count / total, 4) for name, count in _by_name(logs, counts).items()}


def _by_name(logs: LogPair, counts: Mapping[int, int]) -> dict[str, int]:
    """Return *counts* by alias; origins that are no cluster of ours are summed as ``?``."""
    named: dict[str, int] = {}
    for origin in sorted(counts):
        name = logs.origin_names.get(origin_of(origin), "?")
        named[name] = named.get(name, 0) + counts[origin]
    return named
