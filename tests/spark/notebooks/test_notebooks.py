"""The notebook, run from top to bottom on tables that the package itself has written; and without a report."""

from __future__ import annotations

import pytest

from builders.spark_tables import append_all
from generators.scripted_day import Day
from offset_sync.tables.store import TableStore
from tools.notebook_runs import run


def test_the_lagging_groups_are_shown_with_their_causes_and_since_when(tables: TableStore) -> None:
    with pytest.raises(
        Exception, match=r"TableError.*sync_status: no rows; make a report: \./spark-submit\.sh report_"
    ):
        run("lagging_groups", root=tables.root)
    day = Day()
    append_all(tables, {table: day.arrow(table) for table in day.rows})
    shown = run("lagging_groups", root=tables.root)
    assert shown["complaints"] == []
    assert shown["said"] == "4 groups lag, by the report of 2026-11-21 06:00:00 UTC\n"
    groups, reasons = shown["tables"]
    for group, cause, since in (
        ("reports", "no commits", "2026-11-21 02:56:00"),
        ("audit", "withheld", "2026-11-21 04:01:01+00:00"),
        ("shipping", "target active", "2026-11-21 04:31:01+00:00"),
        ("fraud", "mirror behind", "2026-11-21 05:15:00"),
    ):
        (row,) = [row for row in groups.split("<tr>") if f"<td>{group}</td>" in row]
        assert f"<td>{cause}</td>" in row
        assert since in row
    assert "withheld: the topic was deleted and recreated, its offsets are other records now</td>" in reasons
    since, progress = shown["pictures"]
    assert {bar["name"]: bar["text"] for bar in since["data"]} == {
        "no commits": ["3.1 h"],
        "withheld": ["2.0 h"],
        "target active": ["1.5 h"],
        "mirror behind": ["45 min"],
    }
    assert len(progress["data"]) == 8  # four groups at two clusters
