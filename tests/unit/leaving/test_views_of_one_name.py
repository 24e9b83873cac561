"""Rows of an earlier version, which had one name for a stream, in views that say what both sides call it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from builders.delta_rs_tables import write_tables
from generators.table_histories import random_history
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS, SYNC_STATUS
from offset_sync.tables.views.duckdb import open_tables


@pytest.mark.parametrize("view", ["lag", "sync_decisions"])
def test_a_row_says_what_both_sides_call_it_and_one_of_before_had_one_name(view: str, tmp_path: Path) -> None:
    made = random_history(1)
    table = SYNC_STATUS if view == "lag" else OFFSET_TRANSLATIONS
    first = made[table].slice(0, 1).to_pylist()[0]
    rows = [first | {"topic": "t"}, first | {"topic": "u", "stream": "x.u", "target_topic": "x.u"}]
    rows.append(first | {"topic": "v", "stream": "x.v"})
    write_tables(tmp_path, {table: pa.Table.from_pylist(rows, table.arrow_schema)})
    found = open_tables(str(tmp_path)).sql(f"SELECT * FROM {view}").to_arrow_table().to_pylist()
    assert {(row["topic"], row["target_topic"]) for row in found} == {("t", "t"), ("u", "x.u"), ("v", None)}
