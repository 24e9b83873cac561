"""Delta tables filled as the jobs fill them, and rows of views as they are compared."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore


def checkpoint_every_tenth(tables: TableStore, table: Table) -> None:
    """Have a table's log get a checkpoint after ten versions instead of fifty."""
    tables.log(table).set_properties({"delta.checkpointInterval": "10"})


def append_all(tables: TableStore, rows: Mapping[Table, pa.Table]) -> None:
    """Add a version to each of the tables: the rows are added, or replace what is there."""
    tables.create(rows)
    for table, added in rows.items():
        if table.is_replaced:
            tables.replace(table, added)
        else:
            tables.append(table, added)


def comparable(found: pa.Table) -> list[str]:
    """Return rows as texts, sorted: shares with nine digits, DuckDB's sums as whole numbers, and times in UTC."""
    return sorted(str({name: _plain(value) for name, value in row.items()}) for row in found.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return int(value) if isinstance(value, Decimal) else round(value, 9) if isinstance(value, float) else value
