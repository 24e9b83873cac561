"""Views and questions in DuckDB show what plain Python finds, on histories in which everything occurs."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from builders.delta_rs_tables import write_tables
from generators.table_histories import BEGINS, LASTS, random_history
from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, OFFSET_TRANSLATIONS, RECORD_RUNS, SYNC_STATUS
from offset_sync.tables.definition import Table
from offset_sync.tables.views import QUESTIONS, VIEWS, View, failover_cost
from offset_sync.tables.views.duckdb import open_tables
from oracles import views as view_oracle

ORACLES = {
    "current_offsets": (view_oracle.current_offsets, OFFSET_COMMITS),
    "offset_history": (view_oracle.offset_history, OFFSET_COMMITS),
    "lag": (view_oracle.lag, SYNC_STATUS),
    "translation_quality": (view_oracle.translation_quality, OFFSET_TRANSLATIONS),
    "sync_decisions": (view_oracle.sync_decisions, OFFSET_TRANSLATIONS),
}
COUNTED = (OFFSET_COMMITS, OFFSET_TRANSLATIONS, RECORD_RUNS, LOG_INCARNATIONS)
AN_HOUR = datetime(2026, 11, 21, 3, 12, tzinfo=timezone.utc)


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = connection.sql(sql).to_arrow_table().to_pylist()
    return found


def names_of(view: View) -> list[str]:
    return [each.name for each in view.columns]


def comparable(found: list[dict[str, Any]], names: list[str]) -> list[str]:
    """Rows as texts, sorted; of *why* only how it begins, of a share nine digits."""
    texts = []
    for row in found:
        row = row | ({"why": row["why"].partition(":")[0].partition(" on ")[0]} if "why" in row else {})
        values = [f"{value:.9f}" if isinstance(value, float) else value for value in (row[name] for name in names)]
        texts.append(str([v.replace(tzinfo=timezone.utc) if isinstance(v, datetime) else v for v in values]))
    return sorted(texts)


@pytest.fixture(params=[*((seed,) for seed in (0, 2, 3, 4, 5)), (3, 3300)], ids=str)
def history(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[duckdb.DuckDBPyConnection, Any]:
    """Some histories, and a long one with percentiles of many answers."""
    made = random_history(*request.param)
    write_tables(tmp_path, made)
    return open_tables(str(tmp_path)), {table: each.to_pylist() for table, each in made.items()}


def test_every_view_shows_what_plain_python_finds(history: tuple[duckdb.DuckDBPyConnection, Any]) -> None:
    connection, made = history
    for view in VIEWS:
        oracle, table = ORACLES[view.name]
        found = rows(connection, f"SELECT * FROM {view.name}")
        assert len(found) > 5
        lives = [made[LOG_INCARNATIONS]] if table is OFFSET_COMMITS else []
        names = names_of(view)
        assert comparable(found, names) == comparable(oracle(made[table], *lives), names), view.name


def test_the_cost_of_a_failover_is_what_plain_python_finds_at_any_moment(
    history: tuple[duckdb.DuckDBPyConnection, Any],
) -> None:
    connection, made = history
    draw = random.Random(7)
    exactly = made[OFFSET_TRANSLATIONS][3]["translated_at"]
    moments = [exactly, BEGINS, *(BEGINS + draw.random() * LASTS for _ in range(20))]
    found = rows(connection, failover_cost(moments))
    wanted = [
        row for moment in moments for row in view_oracle.failover_cost(moment, *(made[table] for table in COUNTED))
    ]
    (names,) = [names_of(each) for each in QUESTIONS if each.name == "failover_cost"]
    assert comparable(found, names) == comparable(wanted, names)
    assert any(row["lost"] for row in found)
    assert any(row["target_offset"] is None for row in found)


def test_a_failover_costs_the_same_whatever_topics_are_called(tmp_path: Path) -> None:
    """At each cluster a stream is called otherwise than at any other, and as others call another one."""
    called = {("dc1", "t"): "t", ("dc2", "t"): "u", ("dc3", "t"): "dc1.t"}
    called |= {("dc1", "u"): "u", ("dc2", "u"): "t", ("dc3", "u"): "dc1.u"}
    made, turned = random_history(4), dict[Table, pa.Table]()
    for table, found in made.items():
        each = found.to_pylist()
        for row in each:
            if table in (OFFSET_TRANSLATIONS, SYNC_STATUS):
                target = called[row["target_cluster"], row["topic"]]
                row |= {"stream": row["topic"], "target_topic": target}
                row["topic"] = called[row["source_cluster"], row["topic"]]
            elif table in (OFFSET_COMMITS, RECORD_RUNS):
                row["topic"] = called[row["cluster"], row["topic"]]
        turned[table] = pa.Table.from_pylist(each, table.arrow_schema)
    sql = failover_cost([BEGINS + LASTS * share / 10 for share in range(10)])
    answers = []
    for name, tables in (("same", made), ("named", turned)):
        write_tables(tmp_path / name, tables)
        answers.append(rows(open_tables(str(tmp_path / name)), sql))
    wanted = [row | {"topic": called[row["source_cluster"], row["topic"]]} for row in answers[0]]
    assert any(row["lost"] for row in wanted)
    assert sorted(map(str, answers[1])) == sorted(map(str, wanted))


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
