"""The newest rehearsals of moves between every two clusters, by the steps ``rehearse`` of the table ``cutovers``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow.compute as pc

from offset_sync.model.reasons import Reason
from offset_sync.model.text import to_duration, visible
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore

REHEARSE = "rehearse"
_KEPT = timedelta(days=2)
"""How much older than the newest rehearsal that of a group may be: groups may be deleted."""
Row = dict[str, Any]


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
        counts = self.source, self.target, age, self.partitions, self.groups
        if not self.failed:
            return Reason.AS_PREDICTED(*counts)
        return Reason.NOT_AS_PREDICTED(*counts, self.failed, self.example)


class Rehearsals:
    """Follows the rehearsals in *tables*.

    The newest one of each group counts: one of a single group, by hand, hides nothing about the others.
    """

    def __init__(self, tables: TableStore) -> None:
        self._tables = tables
        self._version: int | None = None
        self._newest = dict[tuple[str, str, str], list[Row]]()

    def follow(self) -> list[LastRehearsal]:
        """Return the newest rehearsals of each direction, by the names of its clusters."""
        rows, self._version = self._tables.rows_since(CUTOVERS, self._version)
        for row in rows.filter(pc.equal(rows["step"], REHEARSE)).sort_by("at").to_pylist():
            known = self._newest.setdefault((row["source_cluster"], row["target_cluster"], row["group_id"]), [])
            if known and row["at"] > known[0]["at"]:  # all rows of a group have the time of their one append
                known.clear()
            if row not in known:
                known.append(row)
        pairs = sorted({key[:2] for key in self._newest})
        return [_last_of(*pair, [each for key, each in self._newest.items() if key[:2] == pair]) for pair in pairs]


def _last_of(source: str, target: str, groups: Sequence[Sequence[Row]]) -> LastRehearsal:
    at = max(each[0]["at"] for each in groups)
    kept = [each for each in groups if each[0]["at"] > at - _KEPT]
    rows = [row for each in kept for row in each]
    failed = [row for row in rows if row["result"] != "done"]
    wrong = sorted("{group_id} {topic}-{partition}: {detail}".format_map(row) for row in failed)
    return LastRehearsal(source, target, at, len(kept), len(rows), len(wrong), visible(wrong[0]) if wrong else None)
