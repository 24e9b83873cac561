"""Views and questions of an installation whose copies have other names: the same, but for what topics are called."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from builders.delta_rs_tables import write_tables
from generators.table_histories import BEGINS, LASTS, random_history
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS, RECORD_RUNS, SYNC_STATUS
from offset_sync.tables.definition import Table
from offset_sync.tables.views import failover_cost
from offset_sync.tables.views.duckdb import open_tables

Row = dict[str, Any]


def called(cluster: str, stream: str) -> str:
    """What a cluster calls a stream: otherwise than any other, and as others call another one."""
    return {"t": {"dc1": "t", "dc2": "u", "dc3": "dc1.t"}, "u": {"dc1": "u", "dc2": "t", "dc3": "dc1.u"}}[stream][
        cluster
    ]


def under_other_names(table: Table, row: Row) -> Row:
    if table in (OFFSET_TRANSLATIONS, SYNC_STATUS):
        names = {name: called(row[f"{name}_cluster"], row["topic"]) for name in ("source", "target")}
        return row | {"topic": names["source"], "stream": row["topic"], "target_topic": names["target"]}
    if table in (OFFSET_COMMITS, RECORD_RUNS):
        return row | {"topic": called(row["cluster"], row["topic"])}
    return row


def answers(folder: Path, made: dict[Table, pa.Table], sql: str) -> list[Row]:
    write_tables(folder, made)
    found: list[Row] = open_tables(str(folder)).sql(sql).to_arrow_table().to_pylist()
    return found


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_a_failover_costs_the_same_whatever_topics_are_called(seed: int, tmp_path: Path) -> None:
    made, draw = random_history(seed), random.Random(seed)
    turned = {
        table: pa.Table.from_pylist([under_other_names(table, row) for row in rows.to_pylist()], table.arrow_schema)
        for table, rows in made.items()
    }
    sql = failover_cost([BEGINS + draw.random() * LASTS for _ in range(10)])
    before, after = answers(tmp_path / "same", made, sql), answers(tmp_path / "named", turned, sql)
    assert any(row["lost"] for row in before)
    assert sorted(map(str, after)) == sorted(
        str(row | {"topic": called(row["source_cluster"], row["topic"])}) for row in before
    )
