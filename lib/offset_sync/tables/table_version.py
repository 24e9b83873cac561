"""What an entry of a Delta table's log says, and a table as it is at one version."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction

from offset_sync.tables.data_files import DataFile

FRESH_SECONDS = 300.0
"""A file without an entry in the log is not older than that when it gets one: maintenance takes what is."""
VECTORS = "deletionVectors"
"""By the feature a file may have some; once they are purged it stays behind, and does no harm."""


class Change(NamedTuple):
    """What an entry says: files that are *added* and *removed*, and the *writer* (application id, version) behind it.

    It *replaces* everything that was there, or *moves* rows into other files, which followers pass over. The oldest
    added file was *written_ms*, None where that is not known; it is entered *fresh_seconds* later at most.
    """

    added: Sequence[DataFile] = ()
    removed: Sequence[DataFile] = ()
    writer: tuple[str, int] | None = None
    replaces: bool = False
    moves: bool = False
    written_ms: int | None = None
    fresh_seconds: float = FRESH_SECONDS

    def age(self, seconds: float) -> float:
        """Return how old the oldest file is, *seconds* after all were written, should any clock have been set."""
        return seconds if self.written_ms is None else max(seconds, time.time() - self.written_ms / 1000)

    def actions(self, now: Version) -> list[AddAction | RemoveAction]:
        """Return the same for delta-rs."""
        now_ms, is_change = int(time.time() * 1000), not self.moves
        removed = now.files() if self.replaces else self.removed
        found: list[AddAction | RemoveAction] = [
            AddAction(each.path, each.size, {}, each.written_ms, is_change, each.statistics) for each in self.added
        ]
        gone = (RemoveAction(each.path, is_change, now_ms, each.size, {}) for each in removed)
        return [*found, *gone]


class Version:
    """A table as it is at one version."""

    def __init__(self, table: DeltaTable) -> None:
        self._table = table
        self.number = table.version()

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return [field.name for field in self._table.schema().fields]

    @property
    def hidden_by(self) -> set[str]:
        """By which features the table is other than its files hold: rows are gone, or columns called otherwise."""
        protocol = self._table.protocol()
        if protocol.min_reader_version == 1:
            return set()
        found = {*(protocol.reader_features or ["columnMapping"])}
        has_vectors = VECTORS in found and pa.table(self._table.deletion_vectors()).num_rows > 0
        return found if has_vectors else found - {VECTORS}

    def has_written(self, writer: tuple[str, int] | None) -> bool:
        """Return whether a writer has entered this version of its own, or a later one."""
        if writer is None:
            return False
        last = self._table.transaction_version(writer[0])
        return last is not None and last >= writer[1]

    def files(self) -> list[DataFile]:
        """Return the files of the table, without their statistics."""
        actions = pa.table(self._table.get_add_actions())
        rows = actions.select(["path", "size_bytes", "modification_time", "num_records"]).to_pydict()
        return [DataFile(path, size, at, rows=count) for path, size, at, count in zip(*rows.values(), strict=True)]
