"""Views and questions in DuckDB as the golden file has them, on random histories in which everything occurs."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv

from builders.spark_tables import append_all
from generators.table_histories import BEGINS, LASTS, random_history
from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore
from offset_sync.tables.views import VIEWS, failover_cost, lagging_groups
from offset_sync.tables.views.duckdb import open_tables
from tools.golden_output import expect

AN_HOUR = datetime(2026, 11, 21, 3, 12, tzinfo=timezone.utc)


def as_text(connection: duckdb.DuckDBPyConnection, name: str, sql: str) -> str:
    """Return the rows, sorted, below the names of their columns."""
    text = io.BytesIO()
    write_csv(connection.sql(f"SELECT * FROM ({sql}) ORDER BY ALL").to_arrow_table(), text)
    return f"# {name}\n{text.getvalue().decode()}"


def opened(folder: Path, made: Mapping[Table, pa.Table]) -> duckdb.DuckDBPyConnection:
    append_all(TableStore(str(folder)), made)
    return open_tables(str(folder))


def test_what_views_and_questions_show_is_in_the_golden_file(tmp_path: Path) -> None:
    """Of a short history all; of a long one percentiles of many answers."""
    made, many = random_history(3, 60), opened(tmp_path / "many", random_history(3, 2000))
    exactly = made[OFFSET_TRANSLATIONS]["translated_at"][3].as_py()
    cost = failover_cost([exactly, BEGINS, *(BEGINS + LASTS * share / 5 for share in range(1, 6))])
    lagging = lagging_groups(timedelta(minutes=10), timedelta(minutes=1))
    asked = [(view.name, view.sql) for view in VIEWS] + [("failover_cost", cost), ("lagging_groups", lagging)]
    few = opened(tmp_path / "few", made)
    quality = as_text(many, "translation_quality of many answers", "SELECT * FROM translation_quality")
    expect("views.csv", "\n".join([*(as_text(few, *each) for each in asked), quality]))


def test_a_folder_without_tables_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"no Delta tables there; give tables\.root of the configuration"):
        open_tables(str(tmp_path / "elsewhere"))


def test_a_moment_of_another_zone_is_the_same_moment_and_one_without_a_zone_is_refused() -> None:
    elsewhere = AN_HOUR.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert failover_cost([elsewhere]) == failover_cost([AN_HOUR])
    assert "TIMESTAMP '2026-11-21 03:12:00.000000+00:00'" in failover_cost([AN_HOUR])
    with pytest.raises(ValueError, match=r"2026-11-21 03:12:00: no time zone; add tzinfo=timezone\.utc"):
        failover_cost([AN_HOUR, AN_HOUR.replace(tzinfo=None)])
    with pytest.raises(ValueError, match="no moments"):
        failover_cost([])
