"""A table of which only the newest rows count: readers see the old ones or the new ones, never both nor none."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from offset_sync.tables.catalog import SYNC_STATUS
from offset_sync.tables.store import TableStore

NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)


@pytest.fixture
def tables(tmp_path: Path) -> TableStore:
    made = TableStore(str(tmp_path))
    made.create([SYNC_STATUS])
    return made


def rows(*groups: str, version: int = 0) -> pa.Table:
    """One row per group; *version* is in a column."""
    found: list[dict[str, Any]] = [
        {"reported_at": NOW, "group_id": group, "status": "InSync", "source_offset": version, "reason": None}
        for group in groups
    ]
    return pa.Table.from_pylist(found, SYNC_STATUS.arrow_schema)


def by_delta_rs(tables: TableStore, version: int | None = None) -> list[dict[str, Any]]:
    table = DeltaTable(tables.path(SYNC_STATUS), version=version).to_pyarrow_table()
    return sorted(table.to_pylist(), key=lambda row: str(row["group_id"]))


def groups_in(found: list[dict[str, Any]]) -> list[str]:
    return [row["group_id"] for row in found]


def test_the_new_rows_replace_the_old_ones_for_every_reader(tables: TableStore) -> None:
    tables.replace(SYNC_STATUS, rows("a", "b"))
    assert groups_in(by_delta_rs(tables)) == ["a", "b"]
    tables.replace(SYNC_STATUS, rows("c", version=2).select(SYNC_STATUS.names[::-1]))
    for found in (tables.all_rows(SYNC_STATUS).to_pylist(), by_delta_rs(tables)):
        assert [(row["group_id"], row["source_offset"], row["reason"]) for row in found] == [("c", 2, None)]
        assert found[0]["reported_at"] == NOW
    assert list(by_delta_rs(tables)[0]) == SYNC_STATUS.names
    assert groups_in(by_delta_rs(tables, version=1)) == ["a", "b"]
