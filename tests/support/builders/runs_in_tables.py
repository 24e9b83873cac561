"""Rows of ``record_runs`` in a table, and what Delta's own reader for Python finds there."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
from deltalake import DeltaTable

from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.store import TableStore

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)


def run(start: int, cluster: str = "dc1", length: int = 10, partition: int = 0) -> pa.Table:
    """Return a row."""
    row = (cluster, "orders", partition, start, length, "dc1", start, NOW, NOW, NOW, None)
    return pa.Table.from_pylist([dict(zip(RECORD_RUNS.names, row, strict=True))], RECORD_RUNS.arrow_schema)


def fill(tables: TableStore, *starts: int) -> None:
    """Append runs of two clusters, each for itself."""
    for start in starts:
        for cluster in ("dc1", "dc2"):
            tables.append(RECORD_RUNS, run(start, cluster))


def rows_in(found: pa.Table) -> list[tuple[str, int]]:
    """Return of which cluster each row is, and where it starts, sorted."""
    return sorted(zip(found["cluster"].to_pylist(), found["start_offset"].to_pylist(), strict=True))


def by_delta_rs(tables: TableStore, version: int | None = None) -> list[tuple[str, int]]:
    """Return the same of the whole table, read by nothing of ours."""
    return rows_in(DeltaTable(tables.path(RECORD_RUNS), version=version).to_pyarrow_table())
