"""Rows of the smallest table, told apart by one number."""

from __future__ import annotations

import pyarrow as pa

from offset_sync.tables.catalog import DRIVERS


def claims(*epochs: int) -> pa.Table:
    """Return a row for each of *epochs*."""
    return pa.Table.from_pylist([{"job": "j", "epoch": epoch} for epoch in epochs], DRIVERS.arrow_schema)


def epochs(rows: pa.Table) -> list[int]:
    """Return which rows these are, sorted."""
    return sorted(rows.column("epoch").to_pylist())
