"""Delta tables written by delta-rs: for tests that start no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from offset_sync.tables.definition import Table


def write_tables(root: Path, rows: Mapping[Table, pa.Table]) -> None:
    """Add a version to each of the tables under *root*: the rows are added, or replace what is there."""
    for table, added in rows.items():
        wanted = added.select(table.names).cast(table.arrow_schema)
        if table.is_replaced:
            write_deltalake(root / table.name, wanted, mode="overwrite")
        else:
            write_deltalake(root / table.name, wanted, mode="append")
