"""The notebooks on the tables of a demo, see ``tests/golden/take_demo.py``; what they say is counted by hand."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from builders.spark_tables import append_all
from offset_sync.tables.catalog import ALL_TABLES, LAST_KNOWN
from offset_sync.tables.definition import fitted
from offset_sync.tables.store import TableStore
from tools.notebook_runs import run

TAKEN = Path(__file__).parents[2] / "golden" / "demo"
GROUPS = {"billing", "shipping", "reports", "fraud", "rebates", "audit", "search"}
Row = dict[str, Any]
KEY = ("group_id", "topic", "partition")


def taken(name: str, **wanted: object) -> list[Row]:
    rows = pq.read_table(TAKEN / f"{name}.parquet").to_pylist()
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


@pytest.fixture(scope="module")
def root(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    tables = TableStore(str(tmp_path_factory.mktemp("demo")))
    tables.create(ALL_TABLES)
    kept = [table for table in ALL_TABLES if table is not LAST_KNOWN]  # which follows from them
    found = {table: pq.read_table(TAKEN / f"{table.name}.parquet") for table in kept}
    rows = {table: fitted(each, table.arrow_schema) for table, each in found.items()}
    append_all(tables, {table: found for table, found in rows.items() if found.num_rows})
    return tables.root


def test_only_groups_that_lag_in_the_demos_last_report_are_shown(root: str) -> None:
    shown = run("lagging_groups", root=root, late_minutes=1 / 60_000)  # a millisecond
    behind = {row["group_id"] for row in taken("sync_status") if row["staleness_ms"] or row["mirror_lag_ms"]}
    assert behind < GROUPS
    assert shown["said"].startswith(f"{len(behind)} groups lag, by the report of ")
    assert {group for group in GROUPS if f"<td>{group}</td>" in shown["tables"][0]} == behind


def test_nothing_that_lags_is_a_sentence_and_no_error(root: str) -> None:
    shown = run("lagging_groups", root=root)
    assert (shown["complaints"], shown["said"][:12]) == ([], "0 groups lag")


def test_the_drill_says_of_the_demos_disaster_what_the_cutover_counted(root: str) -> None:
    moved = taken("cutovers", mode="disaster", step="commit")
    died_at = min(row["at"] for row in moved) - timedelta(milliseconds=1)
    shown = run("failover_drill", root=root, moment=str(died_at), moments=20)
    assert shown["complaints"] == []
    line = next(line for line in shown["said"].splitlines() if "at most" in line)
    at_most = sum(row["duplicates_at_most"] for row in newest_answers(died_at)) + read_since(died_at)
    assert f"at most {at_most} records read again" in line
    assert {row["group_id"] for row in moved} == GROUPS
    assert sum(row["duplicates"] for row in moved) <= at_most


def newest_answers(moment: datetime) -> list[Row]:
    """The last answer of each key from dc1 to dc2, by then."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in sorted(taken("offset_translations", source_cluster="dc1", target_cluster="dc2"), key=written_at):
        if written_at(row) <= moment:
            found[tuple(row[name] for name in KEY)] = row
    return list(found.values())


def written_at(row: Row) -> datetime:
    moment: datetime = row["committed_at"] or row["translated_at"]
    return moment


def read_since(moment: datetime) -> int:
    """How far the groups' own last commits at dc1 are beyond the answered ones, in offsets."""
    commits: Counter[tuple[Any, ...]] = Counter()
    for row in sorted(taken("offset_commits", cluster="dc1"), key=lambda row: (row["committed_at"], row["log_offset"])):
        if row["committed_at"] <= moment and not row["is_own"] and not row["is_tombstone"]:
            commits[tuple(row[name] for name in KEY)] = row["committed_offset"]
    answered = {tuple(row[name] for name in KEY): row["source_offset"] for row in newest_answers(moment)}
    return sum(max(0, commits[key] - offset) for key, offset in answered.items())
