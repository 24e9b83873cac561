"""The same views over the same tables, written by the package itself: Spark and DuckDB find the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

from builders.spark_tables import append_all
from generators.scripted_day import Day
from generators.table_histories import BEGINS, LASTS, random_history
from offset_sync.tables.catalog import OFFSET_COMMITS, SYNC_STATUS
from offset_sync.tables.store import TableStore
from offset_sync.tables.views import QUESTIONS, VIEWS, failover_cost, lagging_groups
from offset_sync.tables.views.duckdb import open_tables
from offset_sync.tables.views.spark import register_views

TEN_MINUTES, ONE_MINUTE = timedelta(minutes=10), timedelta(minutes=1)


def in_spark(spark: SparkSession) -> Callable[[str], Any]:
    return lambda sql: spark.sql(sql).toArrow()


def in_duckdb(root: str, at: datetime | None = None) -> Callable[[str], Any]:
    connection = open_tables(root, at)
    return lambda sql: connection.sql(sql).to_arrow_table()


def rows(run: Callable[[str], Any], sql: str) -> list[str]:
    """Rows as texts, sorted; of a share nine digits, and a time of DuckDB without its zone with it."""
    return sorted(json.dumps(row, default=_moment) for row in _rounded(run(sql).to_pylist()))


def _rounded(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: round(v, 9) if isinstance(v, float) else v for k, v in row.items()} for row in found]


def _moment(value: datetime) -> str:
    return value.replace(tzinfo=timezone.utc).isoformat() if value.tzinfo is None else value.isoformat()


@pytest.fixture
def filled(tables: TableStore) -> TableStore:
    """Tables with a history in which everything occurs."""
    append_all(tables, random_history(11, 200))
    return tables


def test_spark_and_duckdb_show_the_same_rows_in_every_view_and_answer_every_question_alike(
    spark: SparkSession, filled: TableStore
) -> None:
    register_views(spark, filled.root)
    moments = [BEGINS + LASTS * share / 5 for share in range(6)]
    asked = [(view, f"SELECT * FROM {view.name}") for view in VIEWS]
    asked += zip(QUESTIONS, (failover_cost(moments), lagging_groups(TEN_MINUTES, ONE_MINUTE)), strict=True)
    for view, sql in asked:
        found = rows(in_spark(spark), sql)
        assert len(found) > 5
        assert found == rows(in_duckdb(filled.root), sql), view.name
        assert spark.sql(sql).dtypes == [(column.name, column.type) for column in view.columns], view.name


def test_a_moment_shows_in_both_engines_the_report_and_the_history_of_then(
    spark: SparkSession, tables: TableStore
) -> None:
    early, late = Day(steps=40), Day(steps=48)
    before = datetime.now(timezone.utc)
    append_all(tables, {table: early.arrow(table) for table in (OFFSET_COMMITS, SYNC_STATUS)})
    between = datetime.now(timezone.utc)
    append_all(tables, {SYNC_STATUS: late.arrow(SYNC_STATUS), OFFSET_COMMITS: late.arrow(OFFSET_COMMITS)})
    wanted = {
        before: (0, set()),
        between: (len(early.rows[OFFSET_COMMITS]), {early.ends_at}),
    }
    for at, (commits, reported) in wanted.items():
        register_views(spark, tables.root, at)
        for run in (in_spark(spark), in_duckdb(tables.root, at)):
            assert len(run("SELECT * FROM offset_commits")) == commits
            assert set(run("SELECT DISTINCT reported_at FROM lag")["reported_at"].to_pylist()) == reported
