"""The tables for a driver that may be overtaken: it appends only as long as nobody has."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from offset_sync.state.failpoints import in_append
from offset_sync.state.fence import Fence
from offset_sync.tables.data_files import DataFile
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.rows import TopicNames
from offset_sync.tables.store import TableStore


class FencedTables(TableStore):
    """Tables under *root*, whose appends ask *fence* first."""

    def __init__(self, root: str, fence: Fence, files: Files | None = None, names: TopicNames | None = None) -> None:
        super().__init__(root, files, names, in_append)
        self._fence = fence

    def append(
        self,
        table: Table,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: Sequence[DataFile] = (),
    ) -> None:
        """Append as :class:`TableStore` does; raises TakenOverError, and appends nothing, for a driver that is over."""
        if rows.num_rows or written:
            self._fence.renew()
        super().append(table, rows, writer, written)


class UnwrittenTables(TableStore):
    """Tables that are only read: what is appended is dropped."""

    def append(
        self,
        table: Table,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: Sequence[DataFile] = (),
    ) -> None:
        """Drop *rows*."""
