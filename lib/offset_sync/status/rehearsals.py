"""The newest rehearsals of moves between every two clusters, by the steps ``rehearse`` of the table ``cutovers``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow.compute as pc

from offset_sync.model.text import to_duration, visible
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore

REHEARSE = "rehearse"
_DONE = "done"
_KEPT = timedelta(days=2)
"""How much older than the newest rehearsal that of a group may be: groups may be deleted."""
_Pair = tuple[str, str]


class _Run(NamedTuple):
    """The rows about one group in a rehearsal, by topic and partition; *at* is that of the first."""

    cutover_id: str
    at: datetime
    rows: dict[tuple[str, int], dict[str, Any]]


class LastRehearsal(NamedTuple):
    """The partitions that were rehearsed *at* (aware), how many of them not as predicted, and the first of those."""

    source: str
    target: str
    at: datetime
    groups: int
    partitions: int
    failed: int
    example: str | None

    def note(self, now: datetime) -> str:
        """Return a line for people."""
        age = to_duration(max(0, int((now - self.at).total_seconds() * 1000)))
        what = f"{self.source} to {self.target} was rehearsed {age} ago"
        of_all = f"{self.partitions:,} partitions of {self.groups:,} groups"
        if not self.failed:
            return f"{what}: {of_all} as predicted"
        return f"{what}: {self.failed:,} of {of_all} NOT as predicted: {self.example}"


class Rehearsals:
    """Follows the rehearsals in *tables*.

    The newest one of each group counts: one of a single group, by hand, hides nothing about the others.
    """

    def __init__(self, tables: TableStore) -> None:
        self._tables = tables
        self._version: int | None = None
        self._groups: dict[_Pair, dict[str, _Run]] = {}

    def follow(self) -> list[LastRehearsal]:
        """Return the newest rehearsals of each direction, by the names of its clusters."""
        rows, self._version = self._tables.rows_since(CUTOVERS, self._version)
        rows = rows.filter(pc.equal(rows["step"], REHEARSE))
        for row in rows.sort_by("at").to_pylist():
            groups = self._groups.setdefault((row["source_cluster"], row["target_cluster"]), {})
            run = groups.get(row["group_id"])
            # The rows of a run come one group at a time.
            if run is None or (run.cutover_id != row["cutover_id"] and run.at <= row["at"]):
                run = groups[row["group_id"]] = _Run(row["cutover_id"], row["at"], {})
            if run.cutover_id == row["cutover_id"]:
                run.rows[row["topic"], row["partition"]] = row
        return [_last(pair, groups) for pair, groups in sorted(self._groups.items())]


def _last(pair: _Pair, groups: Mapping[str, _Run]) -> LastRehearsal:
    at = max(run.at for run in groups.values())
    runs = [run for run in groups.values() if run.at > at - _KEPT]
    rows = [row for run in runs for row in run.rows.values()]
    wrong = [row for row in rows if row["result"] != _DONE]
    first = min(wrong, key=lambda row: (row["group_id"], row["topic"], row["partition"]), default=None)
    example = (
        visible(f"{first['group_id']} {first['topic']}-{first['partition']}: {first['detail']}") if first else None
    )
    at = max(row["at"] for row in rows)
    return LastRehearsal(*pair, at, len(runs), len(rows), len(wrong), example)
