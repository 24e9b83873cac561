"""The base tables and the views of ``offset_sync.tables.views`` in DuckDB, read by delta-rs."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
from deltalake import DeltaTable

from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import ALL_TABLES
from offset_sync.tables.views import VIEWS


def open_tables(root: str, storage_options: Mapping[str, str] | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection that has every table under *root* and every view by its name; its time zone is UTC.

    Rows are read when a query needs them, from the versions of the moment of this call. A table that does not exist
    has no rows. *storage_options* are delta-rs's, for object stores. Raises TableError where there is no table at all.
    """
    options = dict(storage_options or {})
    paths = {table: f"{root.rstrip('/')}/{table.name}" for table in ALL_TABLES}
    found = {table: path for table, path in paths.items() if DeltaTable.is_deltatable(path, options)}
    if not found:
        raise TableError(f"{root}: no Delta tables there; give tables.root of the configuration")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table in ALL_TABLES:
        delta = DeltaTable(found[table], storage_options=options) if table in found else None
        connection.register(table.name, table.no_rows if delta is None else delta.to_pyarrow_dataset())
    connection.execute("CREATE TEMP MACRO unix_millis(moment) AS epoch_ms(moment)")
    for view in VIEWS:
        connection.execute(f"CREATE TEMP VIEW {view.name} AS {view.sql}")
    return connection
