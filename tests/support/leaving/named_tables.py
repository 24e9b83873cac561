"""Tables behind the door that translates names: what is stored has those that Kafka knows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from fakes.tables import MemoryTables
from offset_sync.config import Config
from offset_sync.tables.definition import Table
from offset_sync.tables.rows import CLUSTER_OF, renamed


class NamedTables(MemoryTables):
    """Tables in memory behind the door of the real ones."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.names = config.names

    def append(self, table: Table, rows: pa.Table, writer: Any = None, written: object = None) -> None:
        """Append *rows*, which have streams."""
        rows = rows.select(table.names).cast(table.arrow_schema)
        super().append(table, self.renamed(table, rows, self.names.outside), writer, written)

    def read_added(self, table: Table, after: int, until: int) -> pa.Table:
        """Return rows with streams; all other ways to read lead here."""
        return self.renamed(table, super().read_added(table, after, until), self.names.inside)

    def renamed(self, table: Table, rows: pa.Table, name_of: Any) -> pa.Table:
        """Return *rows* by other names."""
        return renamed(rows, CLUSTER_OF[table], name_of) if table in CLUSTER_OF else rows
