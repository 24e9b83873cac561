"""What every table says of itself for whoever writes it."""

from __future__ import annotations

from offset_sync.tables.definition import Table

_OF_ALL = {
    # Plain protocol: delta-rs and DuckDB read the tables as they are.
    "delta.enableDeletionVectors": "false",
    "delta.checkpointInterval": "50",
    # A writer that was away longer than this would repeat its last batch.
    "delta.setTransactionRetentionDuration": "interval 90 days",
}


def properties_of(table: Table) -> dict[str, str]:
    """Return the properties that *table* is created with."""
    return {**_OF_ALL, "delta.appendOnly": str(table.is_append_only).lower()}
