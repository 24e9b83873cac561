"""The notebook, run from top to bottom on a report of groups that lag for each cause; and without a report."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from builders.spark_tables import append_all
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS, SYNC_STATUS
from offset_sync.tables.store import TableStore
from tools.notebook_runs import run


def ago(minutes: int) -> datetime:
    """Return a moment before the report."""
    return datetime(2026, 11, 21, 6, tzinfo=timezone.utc) - timedelta(minutes=minutes)


REPORTED: dict[str, dict[str, Any]] = {
    "billing": {"status": "InSync"},
    "reports": {"status": "InSync", "source_lag": 9, "source_committed_at": ago(184)},
    "audit": {"status": "Withheld", "reason": "TOPIC_RECREATED"},
    "shipping": {"status": "TargetActive"},
    "fraud": {"status": "Mirroring", "mirror_lag": 5, "mirror_lag_ms": 45 * 60_000},
}
ANSWERED = {"audit": ("WITHHELD", "TOPIC_RECREATED", ago(119)), "shipping": ("TARGET_ACTIVE", "EXACT", ago(89))}


def append_report(tables: TableStore) -> None:
    keys = {group: {"group_id": group, "topic": "orders", "partition": 0} for group in REPORTED}
    pair = {"source_cluster": "dc1", "target_cluster": "dc2"}
    status = [pair | keys[group] | {"reported_at": ago(0)} | said for group, said in REPORTED.items()]
    answers = [
        pair | keys[group] | dict(zip(("outcome", "state", "translated_at"), answer))
        for group, answer in ANSWERED.items()
    ]
    times = {"committed_at": ago(200), "captured_at": ago(199)}
    commits = [
        key | times | {"cluster": alias, "committed_offset": 7, "is_own": alias == "dc2", "log_offset": n}
        for n, key in enumerate(keys.values())
        for alias in ("dc1", "dc2")
    ]
    made = {SYNC_STATUS: status, OFFSET_TRANSLATIONS: answers, OFFSET_COMMITS: commits}
    append_all(tables, {table: pa.Table.from_pylist(rows, table.arrow_schema) for table, rows in made.items()})


def test_the_lagging_groups_are_shown_with_their_causes_and_since_when(tables: TableStore) -> None:
    lacking = r"TableError.*sync_status: no rows; make a report: \./spark-submit\.sh report_"
    with pytest.raises(Exception, match=lacking):
        run("lagging_groups", root=tables.root)
    append_report(tables)
    shown = run("lagging_groups", root=tables.root)
    assert shown["complaints"] == []
    assert shown["said"] == "4 groups lag, by the report of 2026-11-21 06:00:00 UTC\n"
    groups, reasons = shown["tables"]
    for group, cause, since in (
        ("reports", "no commits", "2026-11-21 02:56:00"),
        ("audit", "withheld", "2026-11-21 04:01:00"),
        ("shipping", "target active", "2026-11-21 04:31:00"),
        ("fraud", "mirror behind", "2026-11-21 05:15:00"),
    ):
        (row,) = [row for row in groups.split("<tr>") if f"<td>{group}</td>" in row]
        assert f"<td>{cause}</td>" in row
        assert since in row
    assert "withheld: the topic was deleted and recreated, its offsets are other records now</td>" in reasons
    since, progress = shown["pictures"]
    ages = {"no commits": "3.1 h", "withheld": "2.0 h", "target active": "1.5 h", "mirror behind": "45 min"}
    assert {bar["name"]: bar["text"] for bar in since["data"]} == {cause: [age] for cause, age in ages.items()}
    assert len(progress["data"]) == 8  # four groups at two clusters
