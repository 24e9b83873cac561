"""The notebooks, run from top to bottom on tables that the package itself has written."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from pyspark.sql import SparkSession

from builders.spark_tables import append_all
from generators.scripted_day import Day
from offset_sync.model.errors import TableError
from offset_sync.tables.store import TableStore
from tools.notebook_runs import run


@pytest.fixture(scope="module")
def day() -> Day:
    return Day()


@pytest.fixture(scope="module")
def root(spark: SparkSession, template: Path, day: Day, tmp_path_factory: pytest.TempPathFactory) -> str:
    tables = TableStore(str(copytree(template, tmp_path_factory.mktemp("day") / "tables")))
    append_all(tables, {table: day.arrow(table) for table in day.rows})
    return tables.root


def test_the_lagging_groups_are_shown_with_their_causes_and_since_when(root: str) -> None:
    shown = run("lagging_groups", root=root)
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
    assert "billing" not in groups
    assert "search" not in groups
    assert "withheld: the topic was deleted and recreated, its offsets are other records now</td>" in reasons
    since, progress = shown["pictures"]
    assert {bar["name"]: bar["text"] for bar in since["data"]} == {
        "no commits": ["3.1 h"],
        "withheld": ["2.0 h"],
        "target active": ["1.5 h"],
        "mirror behind": ["45 min"],
    }
    assert len(progress["data"]) == 8  # four groups at two clusters


def test_without_a_report_the_notebook_says_what_to_do(tables: TableStore) -> None:
    with pytest.raises(
        Exception, match=r"sync_status: no rows; make a report: \./spark-submit\.sh report_status"
    ) as told:
        run("lagging_groups", root=tables.root)
    assert TableError.__name__ in str(told.value)
