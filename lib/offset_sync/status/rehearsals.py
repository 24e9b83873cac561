"""The newest rehearsals of moves between every two clusters, by the steps ``rehearse`` of the table ``cutovers``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
        self._newest = dict[tuple[str, str], dict[str, tuple[datetime, dict[tuple[str, int], Row]]]]()

    def follow(self) -> list[LastRehearsal]:
        """Return the newest rehearsals of each direction, by the names of its clusters."""
        rows, self._version = self._tables.rows_since(CUTOVERS, self._version)
        for row in rows.filter(pc.equal(rows["step"], REHEARSE)).to_pylist():
            groups = self._newest.setdefault((row["source_cluster"], row["target_cluster"]), {})
            at, known = groups.get(row["group_id"], (row["at"], {}))
            if row["at"] > at:  # all rows of a group have the time of their one append
                at, known = row["at"], {}
            if row["at"] == at:
                known[row["topic"], row["partition"]] = row
            groups[row["group_id"]] = at, known
        return [_last_of(*pair, groups.values()) for pair, groups in sorted(self._newest.items())]


def _last_of(source: str, target: str, found: Iterable[tuple[datetime, Mapping[Any, Row]]]) -> LastRehearsal:
    groups = list(found)
    at = max(at for at, _ in groups)
    kept = [rows for each, rows in groups if each > at - _KEPT]
    rows = [row for of_group in kept for row in of_group.values()]
    wrong = sorted(
        (row["group_id"], row["topic"], row["partition"], row["detail"]) for row in rows if row["result"] != "done"
    )
    example = "{} {}-{}: {}".format(*wrong[0]) if wrong else None
    return LastRehearsal(source, target, at, len(kept), len(rows), len(wrong), example and visible(example))
