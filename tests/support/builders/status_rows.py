"""Rows of sync_status: a partition that is in sync, unless a test says otherwise."""

from __future__ import annotations

from typing import Any

from offset_sync.tables.catalog import SYNC_DRIFT, SYNC_STATUS

Row = dict[str, Any]
NO_DRIFT = SYNC_DRIFT.arrow_schema.empty_table()


def status_row(**changes: Any) -> Row:
    """Return a row of group g, from dc1 to dc2, with every column."""
    key = {"source_cluster": "dc1", "target_cluster": "dc2", "group_id": "g", "topic": "t", "partition": 0}
    costs = dict.fromkeys(("lost", "not_mirrored", "duplicates", "duplicates_at_most"), 0)
    ages = {"staleness_ms": 0, "mirror_lag_ms": 0}
    well = {"status": "InSync", "state": "EXACT", "is_target_active": False, "wanted_offset": 100, "target_offset": 100}
    return {**dict.fromkeys(SYNC_STATUS.names), **key, **costs, **ages, **well, **changes}


def status_rows(*changes: Row) -> list[Row]:
    """Return a row for each of *changes*."""
    return [status_row(**each) for each in changes]
