"""Delta tables filled as the jobs fill them."""

from __future__ import annotations

from collections.abc import Mapping

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
