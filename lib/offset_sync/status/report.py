"""A report as one structure, which terminal, JSON, page and Prometheus show; its drift, and selections of its rows.

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

import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cache, cached_property
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config.name_patterns import is_match
from offset_sync.model.errors import OffsetSyncError
from offset_sync.model.reasons import Reason
from offset_sync.status.assessment import MOVES, STATUS_WORDS, Row, find_notes, find_problems, skipped, trouble, verdict
from offset_sync.tables.catalog import SYNC_DRIFT

PAIR = ("source_cluster", "target_cluster")
GROUP = (*PAIR, "group_id")
TOPIC = (*PAIR, "topic")
DRIFT_WINDOW = timedelta(minutes=10)
"""The change of the drift is summed over it; it is longer than any pause."""
_CONVERGED_WITHIN = 1_000
"""Records of a group."""
SUMS = ("lost", "skipped", "not_mirrored", "duplicates", "duplicates_at_most", "listed", "source_lag", "target_lag")
"""Summed over partitions; null counts as 0 here, and is counted in ``unknown``."""
_GREATEST = ("staleness_ms", "mirror_lag_ms")
_LOG = itemgetter(*TOPIC, "partition")
_KEY = (*GROUP, "topic", "partition")
_SUMS_OF_OFFSETS = ("partitions", "source_offsets", "target_offsets")
_SUMMED = (*_SUMS_OF_OFFSETS, "change", "windowed_change", "groups")
_PAIR, _GROUP = itemgetter(*PAIR), itemgetter(*GROUP)
_DRIFT = ("partitions", "drift", "change", "windowed_change", "is_converged")


@dataclass(frozen=True)
class Report:
    """Rows of sync_status, the rows of sync_drift in the windows shown, and the time of the report (aware).

    *notes* are lines about facts without a row.
    """

    rows: Sequence[Row]
    drift: pa.Table
    reported_at: datetime
    notes: Sequence[str] = ()

    @property
    def newest_drift(self) -> pa.Table:
        """The rows of this report."""
        return self.drift.filter(pc.equal(self.drift["at"], pa.scalar(self.reported_at)))

    def select(self, groups: Sequence[str]) -> Report:
        """Return the report with these *groups*, regular expressions for whole names; with all if there is none.

        Raise OffsetSyncError for an invalid expression.
        """
        if not groups:
            return self
        try:
            return replace(self, rows=[row for row in self.rows if is_match(groups, row["group_id"])])
        except re.error as error:
            raise OffsetSyncError(f"--group: {error.pattern!r} is no regular expression ({error})") from error

    @cached_property
    def document(self) -> dict[str, Any]:
        """The report as ``docs/report.schema.json`` has it, each list worst first; names are exactly Kafka's."""
        partitions = self._ranked()
        of_all = self.newest_drift.to_pylist()
        drift = {_GROUP(row): {name: row[name] for name in _DRIFT} for row in of_all}
        pairs, groups, topics = (roll_up(partitions, by) for by in (PAIR, GROUP, TOPIC))
        for row in (*pairs, *groups):
            row["drift"] = drift.get(tuple(row.get(name) for name in GROUP))
        problems = list(find_problems(partitions, pairs, groups))
        return {
            "reported_at": self.reported_at,
            "healthy": not problems,
            "problems": problems,
            "notes": [*find_notes(partitions), *self.notes],
            "pairs": pairs,
            "groups": groups,
            "topics": topics,
            "partitions": partitions,
        }

    def to_json(self) -> str:
        """Return the document in ASCII, on one line."""
        return json.dumps(self.document, default=_iso)

    def _ranked(self) -> list[Row]:
        """Return the rows of the status, worst first, with what follows from them."""
        rows, shares_of = [dict(row) for row in self.rows], cache(json.loads)
        for row in rows:
            row |= {"skipped": skipped(row), "move": MOVES[verdict(row)], "trouble": trouble(row)}
            others = row["elsewhere"] and Reason.NEWEST_ELSEWHERE(row["elsewhere"])
            row["reason"] = "; ".join(filter(None, (row["reason"], others))) or None
            row["origin_share"] = row["origin_share"] and shares_of(row["origin_share"])
        return sorted(rows, key=_badness)


def _iso(at: datetime) -> str:
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds")


def roll_up(partitions: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """Return one row per *by* (GROUP, PAIR or TOPIC), worst first; *partitions* are worst first too.

    Its ``status`` is the worst, its ``reason`` that of the worst partition, its ``move`` the least. ``unknown`` counts
    partitions whose duplicates are unknown, ``mirror_lag`` each log once.
    """
    parts, key = dict[tuple[str, ...], list[Row]](), itemgetter(*by)
    for row in partitions:
        parts.setdefault(key(row), []).append(row)
    return sorted((_rolled(rows, by) for rows in parts.values()), key=_badness)


def _rolled(rows: Sequence[Row], by: Sequence[str]) -> Row:
    counts = Counter(row["status"] for row in rows)
    lags = {_LOG(row): row["mirror_lag"] for row in reversed(rows)}
    found = {name: rows[0][name] for name in (*by, "reason")} | {
        "status": min(counts, key=STATUS_WORDS.index),
        "move": min({row["move"] for row in rows}, key=MOVES.index),
        "statuses": {word: counts[word] for word in STATUS_WORDS},
        "partitions": len(rows),
        "unknown": sum(row["duplicates"] is None for row in rows),
        **{name: sum(filter(None, map(itemgetter(name), rows))) for name in SUMS},
        "mirror_lag": sum(filter(None, lags.values())),
        **{name: max(filter(None, map(itemgetter(name), rows)), default=0) for name in _GREATEST},
    }
    for name, of in (("topics", "topic"), ("groups", "group_id")):
        if of not in by:
            found[name] = len({row[of] for row in rows})
    if by is TOPIC:
        found["target_topic"] = rows[0]["target_topic"]
        shares = {row["partition"]: row["origin_share"] for row in rows if row["origin_share"]}
        found["origin_share"] = _mean(shares.values())
    return found


def _mean(shares: Collection[dict[str, float]]) -> dict[str, float]:
    totals = Counter[str]()
    for share in shares:
        totals.update(share)
    return {name: total / len(shares) for name, total in totals.items()}


def _badness(row: Row) -> tuple[Any, ...]:
    lost, duplicates, stale = row["lost"] or 0, row["duplicates"] or 0, row["staleness_ms"] or 0
    names = (row[name] for name in _KEY if name in row)
    return not row["skipped"], STATUS_WORDS.index(row["status"]), -lost, -duplicates, -stale, *names


class DriftWindow:
    """Keeps the drift of *window*; a group has converged within *threshold* records, a pair within their sum."""

    def __init__(self, window: timedelta = DRIFT_WINDOW, threshold: int = _CONVERGED_WITHIN) -> None:
        self._window, self._threshold = window, threshold
        self._shown = SYNC_DRIFT.arrow_schema.empty_table()

    def add(self, rows: Sequence[Row], now: datetime) -> pa.Table:
        """Add *rows* of sync_status; return all rows of sync_drift of six windows.

        Those of one time are of the pairs and then of their groups.

        Only partitions with an offset at both clusters count. A group of which there are more or fewer of these than
        before has not changed.
        """
        at = self._shown["at"]
        last = {_GROUP(row): row for row in self._shown.filter(pc.equal(at, pc.max(at))).to_pylist()}
        recent = self._shown.filter(pc.greater(at, pa.scalar(now - self._window))).group_by(GROUP)
        changed = {_GROUP(row): row["change_sum"] for row in recent.aggregate([("change", "sum")]).to_pylist()}
        groups, pairs = dict[tuple[str, ...], list[Row]](), dict[tuple[str, ...], Counter[str]]()
        for row in rows:
            if row["source_offset"] is not None is not row["target_offset"]:
                groups.setdefault(_GROUP(row), []).append(row)
        found = [_offsets_of(groups[group]) for group in sorted(groups)]
        for row in found:
            before, drift = last.get(_GROUP(row), {}), row["source_offsets"] - row["target_offsets"]
            row["change"] = drift - before["drift"] if before.get("partitions") == row["partitions"] else 0
            row["windowed_change"] = row["change"] + changed.get(_GROUP(row), 0)
            row["groups"] = 1
            pairs.setdefault(_PAIR(row), Counter()).update({name: row[name] for name in _SUMMED})
        found[:0] = [dict(zip(PAIR, pair, strict=True)) | sums for pair, sums in pairs.items()]
        for row in found:
            row |= {"at": now, "drift": row["source_offsets"] - row["target_offsets"]}
            row["is_converged"] = abs(row["windowed_change"]) <= row["groups"] * self._threshold
        shown = pa.concat_tables([self._shown, pa.Table.from_pylist(found, SYNC_DRIFT.arrow_schema)])
        self._shown = shown.filter(pc.greater_equal(shown["at"], pa.scalar(now - 6 * self._window)))
        return self._shown


def _offsets_of(rows: Sequence[Row]) -> Row:
    """Return a row of sync_drift for the partitions of one group."""
    sums = (sum(row[name] for row in rows) for name in ("source_offset", "target_offset"))
    return dict(zip((*GROUP, *_SUMS_OF_OFFSETS), (*_GROUP(rows[0]), len(rows), *sums), strict=True))
