"""Every example of docs/tables.md, run unchanged over tables in the place of ``data/tables``; and all views."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from builders.spark_tables import append_all, comparable
from generators.table_histories import BEGINS, LASTS, random_history
from offset_sync.tables.catalog import SYNC_DRIFT, SYNC_STATUS
from offset_sync.tables.store import TableStore
from offset_sync.tables.views import QUESTIONS, VIEWS, failover_cost, lagging_groups
from offset_sync.tables.views.duckdb import open_tables
from offset_sync.tables.views.spark import register_views
from write_docs import PAGE

TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)( [\w-]+)?\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
(FILE,) = re.findall(r"\]\(([\w./]+/failover_cost\.sql)\)", TEXT)
"""The query that the page continues with, behind its own line of moments."""
SQL = [
    text + (PAGE.parent / FILE).read_text(encoding="utf-8") if "03:12" in text else text
    for language, engine, text in BLOCKS
    if (language, engine) == ("sql", "")
]
PYTHON = [text for language, _, text in BLOCKS if language == "python"]
SPARK_SQL = [text for language, engine, text in BLOCKS if (language, engine) == ("sql", " spark")]
TRAVELS = ("TIMESTAMP AS OF", "load_as_version")


@pytest.fixture(scope="module")
def root(template: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Tables of some hours, and of before them a report."""
    tables, made = TableStore(str(copytree(template, tmp_path_factory.mktemp("page") / "tables"))), random_history(5)
    sooner = [row | {"reported_at": BEGINS} for row in made[SYNC_STATUS].to_pylist()]
    append_all(tables, {SYNC_STATUS: pa.Table.from_pylist(sooner, SYNC_STATUS.arrow_schema)})
    Path(tables.root, "03:12").write_text(datetime.now(timezone.utc).isoformat())
    drift = [{"at": BEGINS, "source_cluster": "dc1", "target_cluster": "dc2", "group_id": "billing", "drift": 7}]
    append_all(tables, made | {SYNC_DRIFT: pa.Table.from_pylist(drift, SYNC_DRIFT.arrow_schema)})
    return tables.root


def here(text: str, root: str) -> str:
    """An example with these tables; where it travels in time, to the moment between the two reports."""
    if any(word in text for word in TRAVELS):
        moment = Path(root, "03:12").read_text()
        text = text.replace("2026-11-21T03:12:00+00:00", moment).replace("2026-11-21 03:12:00", moment[:26])
    return text.replace("data/tables", root)


def test_every_sql_example_gives_the_same_rows_in_spark_and_in_duckdb(spark: SparkSession, root: str) -> None:
    register_views(spark, root)
    tables = open_tables(root)
    assert len(SQL) >= 5
    for text in SQL:
        found = tables.sql(text).to_arrow_table()
        assert found.num_rows > 0, text
        assert comparable(spark.sql(text).toArrow()) == comparable(found), text


def test_every_example_of_python_and_of_spark_alone_finds_rows_also_those_of_then(
    spark: SparkSession, root: str
) -> None:
    for text in [*PYTHON, *(f"rows = spark.sql({text!r}).toArrow()" for text in SPARK_SQL)]:
        names: dict[str, Any] = {"spark": spark}
        exec(here(text, root), names)
        assert names["rows"].num_rows > 0
        if any(word in text for word in TRAVELS):
            assert {*names["rows"]["reported_at"].to_pylist()} == {BEGINS}


def test_spark_and_duckdb_show_the_same_rows_in_every_view_and_answer_every_question_alike(
    spark: SparkSession, tables: TableStore
) -> None:
    append_all(tables, random_history(11, 200))
    register_views(spark, tables.root)
    lagging = lagging_groups(timedelta(minutes=10), timedelta(minutes=1))
    cost = failover_cost([BEGINS + LASTS * share / 5 for share in range(6)])
    asked = [(view, f"SELECT * FROM {view.name}") for view in VIEWS]
    for view, sql in [*asked, *zip(QUESTIONS, (cost, lagging), strict=True)]:
        found = spark.sql(sql)
        rows = comparable(found.toArrow())
        assert len(rows) > 5
        assert rows == comparable(open_tables(tables.root).sql(sql).to_arrow_table()), view.name
        assert found.dtypes == [(column.name, column.type) for column in view.columns], view.name
