"""The newest rehearsal of each direction, as reports name it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa

from offset_sync.status.rehearsals import Rehearsals
from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore

NOON = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
PLACE = {"source_cluster": "dc1", "target_cluster": "dc2", "topic": "orders", "step": "rehearse"}


def table(*rows: dict[str, object]) -> pa.Table:
    whole = [PLACE | {"partition": number} | row for number, row in enumerate(rows)]
    return pa.Table.from_pylist(whole, CUTOVERS.arrow_schema)


def row(run: str, at: datetime, group_id: str, detail: str = "", **more: object) -> dict[str, object]:
    result = "failed" if detail else "done"
    return {"cutover_id": run, "at": at, "group_id": group_id, "result": result, "detail": detail, **more}


def test_only_the_newest_rehearsal_of_a_group_counts(tmp_path: Path) -> None:
    tables = TableStore(str(tmp_path))
    tables.create([CUTOVERS])
    rehearsals = Rehearsals(tables)
    assert rehearsals.follow() == []
    hour = timedelta(hours=1)
    back = {"source_cluster": "dc2", "target_cluster": "dc1"}
    tables.append(
        CUTOVERS,
        table(
            row("old", NOON - 3 * hour, "billing", "repeats 7 records, predicted were at most 3"),
            row("new", NOON - 2 * hour, "billing"),
            row("new", NOON - 2 * hour + timedelta(seconds=3), "reports"),
            row("back", NOON - hour, "billing", "2 unread records are below its start", **back),
            row("back", NOON - hour, "audit", "its records were not read in time", **back),
            row("moved", NOON, "billing", "refused", step="check"),
        ),
    )
    assert [each.note(NOON) for each in rehearsals.follow()] == [
        "dc1 to dc2 was rehearsed 1 h 59 min ago: 2 partitions of 2 groups as predicted",
        "dc2 to dc1 was rehearsed 1 h ago: 2 of 2 partitions of 2 groups NOT as predicted: "
        "audit orders-4: its records were not read in time",
    ]
    tables.append(CUTOVERS, table(row("mended", NOON, "billing", **back)))
    assert [(each.source, each.partitions, each.failed) for each in rehearsals.follow()] == [
        ("dc1", 2, 0),
        ("dc2", 2, 1),
    ]
    assert Rehearsals(tables).follow() == rehearsals.follow()
    tables.append(CUTOVERS, table(row("by hand", NOON + 72 * hour, "reports")))
    assert [each.groups for each in rehearsals.follow()] == [1, 2], "groups may be deleted"
