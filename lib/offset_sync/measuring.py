"""What one partition's two logs say about groups that committed on one side and stand on the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.admission import PartitionView
from offset_sync.translate.logindex import LogIndex
from offset_sync.translate.missing import Missing, Stretches, joined, missing_of
from offset_sync.translate.runs import UNKNOWN_ORIGIN, Int64s
from offset_sync.translate.standing import difference

NOBODY_KNOWS = -1
_NEWEST = 10_000
"""So many records, at most, say who produces into a topic where nothing is newer than the window."""


@dataclass(frozen=True)
class Sides:
    """Both logs of a partition; None: it is not indexed, or its cluster does not answer.

    *origins* names the origin codes of all clusters. Times are in milliseconds since the epoch.
    """

    source_code: int
    target_code: int
    source: LogIndex | None
    target: LogIndex | None
    source_view: PartitionView | None
    target_view: PartitionView | None
    origins: Mapping[int, str]
    now_ms: int
    young_since_ms: int
    share_since_ms: int


@dataclass(frozen=True)
class Measured:
    """One row per commit, arrays of shape (commits,); :data:`NOBODY_KNOWS` where an end is not known.

    *repeats* and *skipped* as in ``standing.Difference``; *unread*, *late* and *unknown* as in ``status.Facts``;
    *not_mirrored* are the source's own unread records that the target lacks, for good if the source never comes back.
    """

    repeats: Int64s
    skipped: Int64s
    unread: Int64s
    late: Int64s
    not_mirrored: Int64s
    unknown: Int64s
    mirror_lag: Int64s
    mirror_lag_ms: Int64s
    mirror_gaps: Int64s
    source_end: Int64s
    target_end: Int64s
    lag_by_origin: NDArray[np.object_]
    origin_share: NDArray[np.object_]

    @classmethod
    def joined(cls, parts: Sequence[Measured]) -> Measured:
        """Return the rows of all *parts*, in order."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def measure(sides: Sides, committed: Int64s, wanted: Int64s, standing: Int64s) -> Measured:
    """Measure every group that *committed* at the source and has *standing* at the target (negative: nothing).

    *wanted* is the translation, negative where it is withheld. Errs to more unread, more late, more not mirrored.
    """
    count, source = len(committed), sides.source or LogIndex()
    missing = _missing(sides, source)
    late, own = joined([each.late for each in missing.values()]), missing.get(sides.source_code)
    unmirrored = joined([own.late, own.dropped] if own is not None else [])
    source_end, target_end = _end(sides.source_view), _end(sides.target_view)
    beyond = np.maximum(source_end - np.maximum(committed, source.frontier), 0)
    behind_there = max(0, target_end - (sides.target.frontier if sides.target is not None else 0))
    repeats, skipped = _difference(sides, committed, wanted, standing)
    gaps = sum(_count(each.dropped) for each in _holes(sides).values())
    lags = {sides.origins.get(code, "?"): _count(each.late) for code, each in sorted(missing.items())}
    return Measured(
        repeats=repeats,
        skipped=skipped,
        unread=_all_of(source).count_from(committed) + beyond,
        late=late.count_from(committed) + beyond,
        not_mirrored=unmirrored.count_from(committed) + beyond,
        unknown=beyond + behind_there,
        mirror_lag=np.full(count, _count(late)),
        mirror_lag_ms=np.full(count, _age_ms(late, source, sides.now_ms)),
        mirror_gaps=np.full(count, gaps),
        source_end=np.full(count, source_end),
        target_end=np.full(count, target_end),
        lag_by_origin=np.full(count, json.dumps(lags), np.object_),
        origin_share=np.full(count, json.dumps(_shares(source, sides)), np.object_),
    )


def _missing(sides: Sides, source: LogIndex) -> dict[int, Missing]:
    """Return, per origin, what the target lacks; what it has produced itself it has."""
    origins = source.origins - {sides.target_code, UNKNOWN_ORIGIN}
    missing = {code: missing_of(code, source, sides.target) for code in origins}
    if UNKNOWN_ORIGIN in source.origins:
        runs = source.runs.take(np.asarray(source.runs.origin == UNKNOWN_ORIGIN))
        own = missing.get(sides.source_code, missing_of(sides.source_code, source, sides.target))
        # Nobody can tell whose they are, nor whether they are at the target: taken as our own, and not there.
        unreadable = joined([own.dropped, Stretches(runs.start, runs.length)])
        missing[sides.source_code] = Missing(own.late, unreadable)
    return missing


def _holes(sides: Sides) -> dict[int, Missing]:
    """Return, per origin, what the target has and the source lacks."""
    if sides.target is None:
        return {}
    origins = sides.target.origins - {sides.source_code, UNKNOWN_ORIGIN}
    return {code: missing_of(code, sides.target, sides.source) for code in origins}


def _difference(sides: Sides, committed: Int64s, wanted: Int64s, standing: Int64s) -> tuple[Int64s, Int64s]:
    repeats, skipped = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    rows = np.flatnonzero((wanted >= 0) & (standing >= 0))
    if len(rows) and sides.target is not None:
        log_start = sides.target_view.log_start if sides.target_view is not None else 0
        found = difference(
            committed[rows], wanted[rows], np.maximum(standing[rows], log_start), sides.source, sides.target,
            source_origin=sides.source_code, young_since_ms=sides.young_since_ms,
        )  # fmt: skip
        repeats[rows], skipped[rows] = found.repeats, found.skipped
    return repeats, skipped


def _end(view: PartitionView | None) -> int:
    return view.log_end if view is not None and view.topic_id is not None else NOBODY_KNOWS


def _all_of(log: LogIndex) -> Stretches:
    return Stretches(log.runs.start, log.runs.length)


def _count(stretches: Stretches) -> int:
    return int(stretches.length.sum())


def _age_ms(late: Stretches, source: LogIndex, now_ms: int) -> int:
    """Return for how long the index has known the oldest late record; 0 where there is none."""
    if len(late.start) == 0:
        return 0
    runs = source.runs
    row = np.searchsorted(runs.start, late.start, "right") - 1
    return max(0, now_ms - int(runs.indexed_at_ms[row].min()))


def _shares(log: LogIndex, sides: Sides) -> dict[str, float]:
    """Return the share of each origin in the records of the window, or in the newest ones where it has none."""
    runs = log.runs
    chosen = runs.take(np.asarray(runs.indexed_at_ms >= sides.share_since_ms))
    if len(chosen) == 0:
        chosen = runs.from_offset(max(0, log.frontier - _NEWEST))
    total = int(chosen.length.sum())
    return {
        sides.origins.get(int(code), "?"): round(int(chosen.length[chosen.origin == code].sum()) / total, 4)
        for code in np.unique(chosen.origin)
    }
