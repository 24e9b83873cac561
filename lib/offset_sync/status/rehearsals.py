"""The newest rehearsal of moves between every two clusters, by the steps ``rehearse`` of the table ``cutovers``."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.text import to_duration, visible
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore

REHEARSE = "rehearse"
_DONE = "done"


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
    """Follows the rehearsals in *tables*."""

    def __init__(self, tables: TableStore) -> None:
        self._tables = tables
        self._version: int | None = None
        self._last: dict[tuple[str, str], LastRehearsal] = {}

    def follow(self) -> list[LastRehearsal]:
        """Return the newest rehearsal of each direction, by the names of its clusters."""
        rows, self._version = self._tables.rows_since(CUTOVERS, self._version)
        for each in last_rehearsals(rows):
            known = self._last.get((each.source, each.target))
            if known is None or known.at <= each.at:
                self._last[each.source, each.target] = each
        return [self._last[pair] for pair in sorted(self._last)]


def last_rehearsals(rows: pa.Table) -> list[LastRehearsal]:
    """Return the newest rehearsal of each direction among *rows* of cutovers."""
    rows = rows.filter(pc.equal(rows["step"], REHEARSE))
    by_run = rows.group_by(["source_cluster", "target_cluster", "cutover_id"]).aggregate([("at", "max")])
    newest = {(row["source_cluster"], row["target_cluster"]): row for row in by_run.sort_by("at_max").to_pylist()}
    return [_of_run(rows.filter(pc.equal(rows["cutover_id"], row["cutover_id"]))) for row in newest.values()]


def _of_run(rows: pa.Table) -> LastRehearsal:
    found = rows.to_pylist()
    wrong = [row for row in found if row["result"] != _DONE]
    first = min(wrong, key=lambda row: (row["group_id"], row["topic"], row["partition"]), default=None)
    example = first and visible(f"{first['group_id']} {first['topic']}-{first['partition']}: {first['detail']}")
    groups = len({row["group_id"] for row in found})
    pair = found[0]["source_cluster"], found[0]["target_cluster"]
    return LastRehearsal(*pair, max(row["at"] for row in found), groups, len(found), len(wrong), example)
