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
"""So many records, at most, say who produces into a topic where nothing is newer than the window."""


@dataclass(frozen=True)
class LogPair:
    """Both logs of a partition; None: it is not indexed, or its cluster does not answer.

    *origins* names the origin codes of all clusters. Times are in milliseconds since the epoch. *source_until*: what
    the source's log has from there on came in after the moment that is looked at, so nothing of it can be missing.
    *is_unstamped*: the mirror stamps no headers, so only the timestamps tell how far it has come.
    """

    source_code: int
    target_code: int
    source: LogIndex
    target: LogIndex
    source_view: PartitionMetadata | None
    target_view: PartitionMetadata | None
    origins: Mapping[int, str]
    young_since_ms: int
    share_since_ms: int
    source_until: int = NO_END
    is_unstamped: bool = False

    @classmethod
    def log_of(cls, log: LogIndex | None, view: PartitionMetadata | None) -> LogIndex:
        """Return *log*, or of what is not indexed a log without a record, that begins where the partition does."""
        return log if log is not None else LogIndex(view.log_start if view is not None else 0)

    def version(self) -> tuple[int, ...]:
        """Return what changes when either log does."""
        logs = (self.source, self.target)
        parts = (part for log in logs for part in (id(log), log.frontier, log.is_contradicted))
        return (*parts, min(self.source_until, self.source.frontier))


@dataclass(frozen=True)
class LogComparison:
    """Places in the source's log, and numbers.

    *late*: what the target lacks and may yet get; *arriving*: those of them that a mirror is known to bring;
    *kept_back*: what it would never get without the source; *gone*: what it would not get with it either, dropped on
    its way from elsewhere or deleted. *late_since_ms*: when the oldest late record was indexed; 0 where nothing is
    late. *gaps*: records that the source will never get. *is_settling*: some of it changes with time alone.
    """

    records: OffsetRanges
    pending: OffsetRanges
    kept_back: OffsetRanges
    gone: OffsetRanges
    copies: OffsetRanges
    arriving: int
    late_since_ms: int
    gaps: int
    lag_by_origin: str
    origin_share: str
    is_settling: bool


def compare_logs(sides: LogPair) -> LogComparison:
    """Compare both logs; errs to more that is late, kept back and gone."""
    source, own_code = sides.source, sides.source_code
    everything = _missing_by_time(sides) if sides.is_unstamped else _missing(sides)
    missing = {code: each.below(sides.source_until) for code, each in everything.items()}
    holes = {} if sides.is_unstamped else _holes(sides)
    pending = joined([each.pending for each in missing.values()])
    own = missing.get(own_code, ReplicationGap(OffsetRanges.none(), OffsetRanges.none()))
    gone = [each.skipped for code, each in missing.items() if code != own_code]
    if not sides.is_unstamped:
        gone.append(deleted_of(sides.target_code, source, sides.target).below(sides.source_until))
    there = sides.target.positions(own_code)
    is_mirrored = {code: code == own_code or code in sides.target.origins for code in missing}
    return LogComparison(
        records=OffsetRanges(source.runs.start, source.runs.length),
        pending=pending,
        kept_back=joined([own.pending, own.skipped]),
        gone=joined(gone),
        copies=OffsetRanges(there.start, there.end - there.start),
        arriving=sum(each.pending.total for code, each in missing.items() if is_mirrored[code]),
        late_since_ms=source.indexing_times.indexed_at_ms(int(pending.start[0])) if len(pending.start) else 0,
        gaps=sum(each.skipped.total for each in holes.values()),
        lag_by_origin=json.dumps(_by_name(sides, {code: each.pending.total for code, each in missing.items()})),
        origin_share=json.dumps(_shares(sides)),
        is_settling=any(each.is_settling for each in (*missing.values(), *holes.values())),
    )


def _missing(sides: LogPair) -> dict[int, ReplicationGap]:
    """Return, per origin, what the target lacks of what others have produced."""
    source, target = sides.source, sides.target
    origins = (source.origins | {sides.source_code}) - {sides.target_code, UNKNOWN_ORIGIN}
    missing = {code: replication_gap(code, source, target, sides.young_since_ms) for code in sorted(origins)}
    if UNKNOWN_ORIGIN in source.origins:
        runs = source.runs.take(np.asarray(source.runs.origin == UNKNOWN_ORIGIN))
        own = missing[sides.source_code]
        # Nobody can tell whose they are, nor whether they are at the target: taken as our own, and not there.
        unreadable = joined([own.skipped, OffsetRanges(runs.start, runs.length)])
        missing[sides.source_code] = ReplicationGap(own.pending, unreadable, own.is_settling)
    return missing


def _missing_by_time(sides: LogPair) -> dict[int, ReplicationGap]:
    """Return as late what is newer than all that the target has; of records of one time nobody can tell."""
    here, there = sides.source.times, sides.target.times
    pending = OffsetRanges(sides.source.runs.start, sides.source.runs.length)
    if here is not None and there is not None and len(there):
        row = int(np.searchsorted(here.greatest_to, there.greatest_to[-1], "right"))
        pending = pending.from_offset(int(here.start[row]) if row < len(here) else sides.source.frontier)
    return {sides.source_code: ReplicationGap(pending, OffsetRanges.none())}


def _holes(sides: LogPair) -> dict[int, ReplicationGap]:
    """Return, per origin, what the target has and the source lacks."""
    origins = sides.target.origins - {sides.source_code, UNKNOWN_ORIGIN}
    return {code: replication_gap(code, sides.target, sides.source, sides.young_since_ms) for code in origins}


def _shares(sides: LogPair) -> dict[str, float]:
    """Return the share of each origin in the records of the window, or in the newest ones where it has none."""
    log = sides.source
    since = log.indexing_times.first_since(sides.share_since_ms)
    runs = log.runs.from_offset(since if since is not None else max(0, log.frontier - _NEWEST))
    if len(runs) == 0:
        return {}
    counts = {int(code): int(runs.length[runs.origin == code].sum()) for code in np.unique(runs.origin)}
    total = sum(counts.values())
    return {name: round(count / total, 4) for name, count in _by_name(sides, counts).items()}


def _by_name(sides: LogPair, counts: Mapping[int, int]) -> dict[str, int]:
    """Return *counts* by alias; those of origins that are no cluster of ours together as ``?``."""
    named: dict[str, int] = {}
    for code in sorted(counts):
        name = sides.origins.get(code, "?")
        named[name] = named.get(name, 0) + counts[code]
    return named
