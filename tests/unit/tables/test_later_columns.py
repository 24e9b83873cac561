"""Tables that an earlier version has made get the columns that came later, without a JVM too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table
from offset_sync.tables.local_store import LocalTables
from offset_sync.tables.report_tables import CUTOVERS, SYNC_STATUS


def before(table: Table) -> Table:
    """Return the table as an earlier version had it."""
    columns = tuple(each for each in table.columns if each.name not in table.later)
    return replace(table, columns=columns, later=())


def row(table: Table, **values: str) -> pa.Table:
    return pa.Table.from_pylist([values], table.arrow_schema)


@pytest.mark.parametrize("table", [OFFSET_TRANSLATIONS, SYNC_STATUS, CUTOVERS], ids=lambda each: each.name)
def test_columns_are_added_once_with_what_they_mean_and_old_and_new_writers_go_on(table: Table, tmp_path: Path) -> None:
    earlier, tables = before(table), LocalTables(str(tmp_path))
    tables.create([earlier])
    tables.append(earlier, row(earlier, topic="a"))
    assert tables.all_rows(table).select(["topic", "stream", "target_topic"]).to_pylist() == [
        {"topic": "a", "stream": None, "target_topic": None}
    ]
    for _ in range(2):
        tables.create([table])
        assert tables.version(table) == 2
    fields = {field.name: field.metadata["comment"] for field in DeltaTable(tables.path(table)).schema().fields}
    assert fields == {column.name: column.comment for column in table.columns}
    tables.append(earlier, row(earlier, topic="b"))
    tables.append(table, row(table, topic="c", stream="x.c", target_topic="x.c"))
    found = tables.read_added(table, 2, 4).sort_by("topic").select(["topic", "stream"]).to_pylist()
    assert found == [{"topic": "b", "stream": None}, {"topic": "c", "stream": "x.c"}]
    assert sorted(tables.all_rows(table).column("topic").to_pylist()) == ["a", "b", "c"]
