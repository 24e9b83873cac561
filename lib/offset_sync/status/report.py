"""A finished report, its roll-ups, its drift, and selections of its rows. Tables in, tables out.

Severity of a row, worst first:

1. *skipped* above 0, whatever the status: unread records at the target below the group's position. This must always
   be 0. (``lost`` less ``not_mirrored``: records not mirrored yet are lost only if the source never comes back, and a
   working mirror always has some in flight.)
2. The status, in the order of :class:`Status`. *Withheld* first: nothing is written, and the cost is unknown, until an
   operator acts. *Stalled*: the sync does not work. *Behind*: it works, late. *TargetActive*: nothing to do, but the
   group runs at the target, so it cannot be moved there. *Mirroring*: the sync is done, the mirror is not.
3. More lost, more duplicates, staler; then by name, so that equal reports are ordered alike.

Drift is f(t) - g(t), the offsets of a group at the source less those at the target. While the sync works the two rise
together and their difference hardly changes. When it fails the difference grows by all that the group reads. So the
signal is its change over a window longer than any pause, not its value, which depends on the contents of the logs::

    f - g    |      __/          change over the window   |      /^^^
             |_____/             (10 minutes by default)  |_____/
                  ^ the sync stops                             ^
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.errors import OffsetSyncError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import Status
from offset_sync.status.assessment import STATUS_WORDS, Verdict, skipped, verdicts
from offset_sync.status.rehearsals import LastRehearsal
from offset_sync.tables.catalog import SYNC_DRIFT

Row = dict[str, Any]
PAIR = ("source_cluster", "target_cluster")
GROUP = (*PAIR, "group_id")
TOPIC = (*PAIR, "topic")
NOW, AT_COST, NO = "now", "at_cost", "no"
"""May a group be moved: at no cost; at the cost shown; no, or the cost is unknown."""
DRIFT_WINDOW = timedelta(minutes=10)
"""The change of the drift is summed over it; it is longer than any pause."""
_CONVERGED_WITHIN = 1_000
"""Records of a group."""
_MOVES = {Verdict.BLOCKED: NO, Verdict.UNKNOWN: NO, Verdict.AT_COST: AT_COST, Verdict.NOW: NOW}
SUMS = ("lost", "skipped", "not_mirrored", "duplicates", "duplicates_at_most", "listed", "source_lag", "target_lag")
"""Summed over partitions; null counts as 0 here, and is counted in ``unknown``."""
PER_LOG = ("mirror_lag",)
"""The same for all groups of a partition, so they are summed once per partition, not once per group."""
_ORDER = ("is_skipping", "rank", "lost", "duplicates", "staleness_ms")
_PARTITION = (*GROUP, "topic", "partition")
_OR_ZERO = pc.ScalarAggregateOptions(min_count=0)
_SUMS = ("source_offset", "target_offset", "drift", "change", "windowed_change")


@dataclass(frozen=True)
class Report:
    """Rows of sync_status, the rows of sync_drift in the windows shown, and the time of the report (aware).

    *notes* are lines about facts without a row, also about the *rehearsals* of each direction.
    """

    status: pa.Table
    drift: pa.Table
    reported_at: datetime
    notes: Sequence[str] = ()
    rehearsals: Sequence[LastRehearsal] = ()

    def select(self, groups: Sequence[str], topics: Sequence[str], statuses: Sequence[str]) -> Report:
        """Return the report with the selected rows, and the drift of their pairs and groups.

        *groups* and *topics* are regular expressions for whole names, of which one has to match, for topics the name at
        the source or the target; *statuses* are words of Status, in any case. An empty sequence selects all. Raise
        OffsetSyncError for an invalid expression or word.
        """
        status, drift = self.status, self.drift
        if groups:
            status = status.filter(_matches(status["group_id"], groups, "group_id"))
            drift = drift.filter(pc.or_(pc.is_null(drift["group_id"]), _matches(drift["group_id"], groups, "group_id")))
        if topics:
            is_asked = (_matches(status[name], topics, "topic") for name in ("topic", "target_topic"))
            status = status.filter(pc.or_(*is_asked))
        if statuses:
            status = status.filter(pc.is_in(status["status"], pa.array([_word(each) for each in statuses])))
        drift = drift.join(status.group_by(list(PAIR)).aggregate([]), list(PAIR), join_type="left semi")
        return replace(self, status=status, drift=drift)


def rank_statuses(status: pa.Table) -> pa.Table:
    """Return the rows of *status*, worst first, with ``rank`` (the code of Status), ``skipped`` and ``is_skipping``."""
    rank = pc.index_in(status["status"], pa.array(STATUS_WORDS))
    ranked = status.append_column("rank", rank).append_column("skipped", pa.array(skipped(status)))
    ranked = ranked.append_column("is_skipping", pc.greater(ranked["skipped"], 0))
    return _worst_first(ranked, _PARTITION)


def roll_up(status: pa.Table, by: Sequence[str]) -> pa.Table:
    """Return one row per *by* (GROUP, PAIR or TOPIC), worst first.

    Columns: *by*; ``status`` and ``reason`` of the worst partition; a count for each of STATUS_WORDS; ``partitions``,
    ``topics``, ``groups`` (how many); ``unknown`` (partitions whose duplicates are unknown); SUMS and PER_LOG;
    ``staleness_ms`` and ``mirror_lag_ms`` (the greatest); ``move``: NOW, AT_COST or NO, by the least
    :class:`Verdict` of its rows.
    """
    ranked = _with_counts(rank_statuses(status), by)
    counted = {"topic": "topics", "group_id": "groups"}
    sums, greatest = (*STATUS_WORDS, "unknown", *SUMS, *PER_LOG), ("is_skipping", "staleness_ms", "mirror_lag_ms")
    worst = pc.ScalarAggregateOptions(skip_nulls=False, min_count=0)
    columns = {
        "rank": ("rank", "min"),
        "verdict": ("verdict", "min"),
        "reason": ("reason", "first", worst),
        "partitions": ("rank", "count"),
        **{counts: (name, "count_distinct") for name, counts in counted.items() if name not in by},
        **{name: (name, "sum", _OR_ZERO) for name in sums},
        **{name: (name, "max") for name in greatest},
    }
    found = ranked.group_by(list(by), use_threads=False).aggregate([*columns.values()])
    found = found.rename_columns([*by, *columns])
    words = pa.array(STATUS_WORDS).take(found["rank"].combine_chunks())
    moves = pa.array([_MOVES[Verdict(each)] for each in found["verdict"].to_pylist()], pa.string())
    found = found.append_column("status", words).append_column("move", moves)
    return _worst_first(found, by).drop_columns(["verdict"])


def newest_drift(drift: pa.Table) -> pa.Table:
    """Return the rows of *drift* that each pair's newest report wrote: one per group, and the pair's own (null).

    Rows of one report share their ``at``. A group that is no longer reported on has none.
    """
    newest = drift.group_by(list(PAIR)).aggregate([("at", "max")])
    joined = drift.join(newest, list(PAIR)).filter(pc.field("at") == pc.field("at_max"))
    order = [(name, "ascending") for name in GROUP]
    return joined.select(drift.column_names).sort_by(order)


def with_drift(rolled: pa.Table, drift: pa.Table) -> list[Row]:
    """Return the rows of *rolled*, by GROUP or PAIR, each with its newest row of sync_drift as ``drift``, or None."""
    newest = {tuple(row[name] for name in GROUP): row for row in newest_drift(drift).to_pylist()}
    return [row | {"drift": newest.get(tuple(row.get(name) for name in GROUP))} for row in rolled.to_pylist()]


def _with_counts(ranked: pa.Table, by: Sequence[str]) -> pa.Table:
    rank, keys = ranked["rank"].to_numpy(), (*PAIR, *(name for name in by if name not in PAIR), "topic", "partition")
    is_first = _is_first(ranked, keys)
    columns = dict(zip(ranked.column_names, ranked.columns, strict=True))
    columns |= {status.word: pa.array(rank == status) for status in Status}
    columns |= {name: pc.if_else(is_first, ranked[name], 0) for name in PER_LOG}
    columns["verdict"] = pa.array(verdicts(ranked))
    columns["unknown"] = pc.is_null(ranked["duplicates"])
    columns["reason"] = _reasons(ranked)
    return pa.table(columns)


def _reasons(rows: pa.Table) -> pa.ChunkedArray:
    """Return why each row is not in sync, and the other homes of its group."""
    others = pc.binary_join_element_wise(Reason.NEWEST_ELSEWHERE(""), rows["elsewhere"], "")
    both = pc.binary_join_element_wise(rows["reason"], others, "; ")
    return pc.coalesce(both, rows["reason"], others)


def _is_first(rows: pa.Table, by: Sequence[str]) -> pa.Array:
    """Return True for the first row of each distinct *by*."""
    number = pa.array(np.arange(rows.num_rows))
    keys = list(dict.fromkeys(by))
    first = rows.select(keys).append_column("row", number).group_by(keys).aggregate([("row", "min")])
    return pc.is_in(number, first["row_min"])


def _worst_first(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Sort by severity. The greatest comes first, except for the rank and the names; null counts as 0."""
    keys = {name: pc.fill_null(pc.cast(rows[name], pa.int64()), 0) for name in _ORDER}
    order = [(name, "ascending" if name == "rank" else "descending") for name in _ORDER]
    sortable = pa.table(keys | {f"name {name}": rows[name] for name in names})
    return rows.take(pc.sort_indices(sortable, [*order, *((f"name {name}", "ascending") for name in names)]))


def _matches(names: pa.ChunkedArray, patterns: Sequence[str], column: str) -> pa.Array:
    compiled = [_compile(pattern, column) for pattern in patterns]
    distinct = [name for name in pc.unique(names).to_pylist() if name is not None]
    wanted = [name for name in distinct if any(each.fullmatch(name) for each in compiled)]
    return pc.is_in(names, pa.array(wanted, pa.string()))


def _compile(pattern: str, column: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise OffsetSyncError(f"{column}: {pattern!r} is not a valid regular expression ({error})") from error


def _word(text: str) -> str:
    words = {status.word.lower(): status.word for status in Status}
    if text.lower() not in words:
        raise OffsetSyncError(f"status: unknown {text!r}; use one of {', '.join(words.values())}")
    return words[text.lower()]


class DriftWindow:
    """Keeps the drift of *window*; a group has converged within *threshold* records, a pair within their sum."""

    def __init__(self, window: timedelta = DRIFT_WINDOW, threshold: int = _CONVERGED_WITHIN) -> None:
        self._window, self._threshold = window, threshold
        self._seen: dict[tuple[Any, ...], deque[tuple[datetime, int]]] = {}

    def add(self, status: pa.Table, now: datetime) -> pa.Table:
        """Add rows of sync_status; return rows of sync_drift, of the pairs and then of their groups.

        Only partitions with an offset at both clusters count. A new one has not changed.
        """
        rows = status.filter(pc.is_valid(status["target_offset"]))
        drift = pc.subtract(rows["source_offset"], rows["target_offset"])
        keys = list(zip(*(rows[name].to_pylist() for name in _PARTITION), strict=True))
        self._seen = {key: self._seen.get(key, deque()) for key in keys}
        changes = [self._changes(key, each, now) for key, each in zip(keys, drift.to_pylist(), strict=True)]
        change, windowed = np.array(changes, np.int64).reshape(-1, 2).T
        columns = {"drift": drift, "change": pa.array(change), "windowed_change": pa.array(windowed)}
        rows = pa.table({name: rows[name] for name in (*GROUP, "source_offset", "target_offset")} | columns)
        return pa.concat_tables([self._series(rows, by, now) for by in (PAIR, GROUP)])

    def _changes(self, key: tuple[Any, ...], drift: int, now: datetime) -> tuple[int, int]:
        """Return the change of a partition's drift since the row before, and over the window."""
        seen = self._seen[key]
        before = seen[-1][1] if seen else drift
        seen.append((now, drift))
        # Keep the last one before the window: the change over the window is counted from there.
        while len(seen) > 2 and seen[1][0] <= now - self._window:
            seen.popleft()
        return drift - before, drift - seen[0][1]

    def _series(self, rows: pa.Table, by: Sequence[str], now: datetime) -> pa.Table:
        wanted = [*((name, "sum") for name in _SUMS), ("group_id", "count_distinct"), ([], "count_all")]
        names = [*by, "source_offsets", "target_offsets", *_SUMS[2:], "groups", "partitions"]
        found = rows.group_by(list(by)).aggregate(wanted).rename_columns(names)
        found = found.sort_by([(name, "ascending") for name in by])
        is_converged = pc.less_equal(pc.abs(found["windowed_change"]), pc.multiply(found["groups"], self._threshold))
        columns = {"group_id": pa.nulls(len(found)), "at": pa.repeat(now, len(found)), "is_converged": is_converged}
        columns |= dict(zip(names, found.columns, strict=True))
        return pa.table(columns, SYNC_DRIFT.arrow_schema)
