"""The same views over the same tables, written by the package itself: Spark and DuckDB find the same rows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from pyspark.sql import SparkSession

from builders.spark_tables import append_all, comparable
from generators.scripted_day import Day
from generators.table_histories import BEGINS, LASTS, random_history
from offset_sync.tables.catalog import OFFSET_COMMITS, SYNC_STATUS
from offset_sync.tables.store import TableStore
from offset_sync.tables.views import QUESTIONS, VIEWS, failover_cost, lagging_groups
from offset_sync.tables.views.duckdb import open_tables
from offset_sync.tables.views.spark import register_views


def test_spark_and_duckdb_show_the_same_rows_in_every_view_and_answer_every_question_alike(
    spark: SparkSession, tables: TableStore
) -> None:
    append_all(tables, random_history(11, 200))
    register_views(spark, tables.root)
    moments = [BEGINS + LASTS * share / 5 for share in range(6)]
    lagging = lagging_groups(timedelta(minutes=10), timedelta(minutes=1))
    asked = [(view, f"SELECT * FROM {view.name}") for view in VIEWS]
    asked += zip(QUESTIONS, (failover_cost(moments), lagging), strict=True)
    for view, sql in asked:
        found = spark.sql(sql)
        rows = comparable(found.toArrow())
        assert len(rows) > 5
        assert rows == comparable(open_tables(tables.root).sql(sql).to_arrow_table()), view.name
        assert found.dtypes == [(column.name, column.type) for column in view.columns], view.name


def test_a_moment_shows_in_both_engines_the_report_and_the_history_of_then(
    spark: SparkSession, tables: TableStore
) -> None:
    early, late = Day(steps=40), Day(steps=48)
    before = datetime.now(timezone.utc)
    append_all(tables, {table: early.arrow(table) for table in (OFFSET_COMMITS, SYNC_STATUS)})
    between = datetime.now(timezone.utc)
    append_all(tables, {SYNC_STATUS: late.arrow(SYNC_STATUS), OFFSET_COMMITS: late.arrow(OFFSET_COMMITS)})
    count, reported = "SELECT count(*) AS n FROM offset_commits", "SELECT DISTINCT reported_at AS at FROM lag"
    for at, commits, times in ((before, 0, set()), (between, len(early.rows[OFFSET_COMMITS]), {early.ends_at})):
        register_views(spark, tables.root, at)
        duckdb = open_tables(tables.root, at)
        for found in (
            [spark.sql(sql).toArrow() for sql in (count, reported)],
            [duckdb.sql(sql).to_arrow_table() for sql in (count, reported)],
        ):
            assert (found[0]["n"].to_pylist(), {*found[1]["at"].to_pylist()}) == ([commits], times)
