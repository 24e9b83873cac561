"""The newest rehearsals of moves between every two clusters, by the steps ``rehearse`` of the table ``cutovers``."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.reasons import Reason
from offset_sync.model.text import to_duration, visible
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore

REHEARSE = "rehearse"
_DONE = "done"
_KEPT = timedelta(days=2)
"""How much older than the newest rehearsal that of a group may be: groups may be deleted."""
_PAIR = ["source_cluster", "target_cluster"]
_GROUP = [*_PAIR, "group_id"]
_COLUMNS = [*_GROUP, "topic", "partition", "cutover_id", "result", "detail", "at"]


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
        self._rows = CUTOVERS.arrow_schema.empty_table().select(_COLUMNS)
        self._last: list[LastRehearsal] = []

    def follow(self) -> list[LastRehearsal]:
        """Return the newest rehearsals of each direction, by the names of its clusters."""
        rows, self._version = self._tables.rows_since(CUTOVERS, self._version)
        rows = rows.filter(pc.equal(rows["step"], REHEARSE)).select(_COLUMNS)
        if rows.num_rows:
            self._rows = newest_of_groups(pa.concat_tables([self._rows, rows]))
            pairs = self._rows.group_by(_PAIR).aggregate([]).sort_by([(name, "ascending") for name in _PAIR])
            self._last = [_last_of(self._rows, **pair) for pair in pairs.to_pylist()]
        return self._last


def newest_of_groups(rows: pa.Table) -> pa.Table:
    """Return the rows of each group's newest rehearsal in each direction, without repeated ones.

    Rows of one rehearsal come one group at a time. Rehearsals long before the newest of their direction are left out.
    """
    of_pair = rows.group_by(_PAIR).aggregate([("at", "max")])
    rows = rows.join(of_pair, _PAIR)
    rows = rows.filter(pc.greater(rows["at"], pc.subtract(rows["at_max"], pa.scalar(_KEPT))))
    rows = rows.group_by(_COLUMNS).aggregate([])
    runs = rows.group_by([*_GROUP, "cutover_id"]).aggregate([("at", "min")])
    newest = runs.group_by(_GROUP).aggregate([("at_min", "max")])
    chosen = runs.join(newest, [*_GROUP, "at_min"], [*_GROUP, "at_min_max"], join_type="left semi")
    return rows.join(chosen, [*_GROUP, "cutover_id"], join_type="left semi").select(_COLUMNS)


def _last_of(rows: pa.Table, source_cluster: str, target_cluster: str) -> LastRehearsal:
    is_of_pair = (pc.equal(rows["source_cluster"], source_cluster), pc.equal(rows["target_cluster"], target_cluster))
    rows = rows.filter(pc.and_(*is_of_pair))
    wrong = rows.filter(pc.not_equal(rows["result"], _DONE))
    by_place = [(name, "ascending") for name in ("group_id", "topic", "partition")]
    example = None
    for row in wrong.sort_by(by_place).slice(0, 1).to_pylist():
        example = visible(f"{row['group_id']} {row['topic']}-{row['partition']}: {row['detail']}")
    groups = pc.count_distinct(rows["group_id"]).as_py()
    at = pc.max(rows["at"]).as_py()
    return LastRehearsal(source_cluster, target_cluster, at, groups, rows.num_rows, wrong.num_rows, example)
