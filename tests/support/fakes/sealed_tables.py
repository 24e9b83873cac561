"""Tables in memory of which the oldest rows of ``record_runs`` are sealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fakes.tables import MemoryTables
from offset_sync.state import seal
from offset_sync.tables import segments
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.segments import PREFIX, Directory, Sealed, Segments, TableFiles
from offset_sync.tables.transaction_log import Added, DataFile


@dataclass
class SealedInMemory(MemoryTables):
    """What :meth:`seal` has sealed is in memory; *damage* changes what is said of its rows.

    A version without rows is the entry that moves them. *group_rows* are those of a row group; none *is_unreadable*,
    or all.
    """

    damage: Callable[[Directory], Directory] | None = None
    sealed: dict[str, tuple[DataFile, pa.Table, Directory]] = field(default_factory=dict)
    sealed_to: int = 0
    moved: set[int] = field(default_factory=set)
    group_rows: int = 4
    is_unreadable: bool = False

    def seal(self, versions: int) -> None:
        """Seal the rows of the oldest *versions* that are not sealed, as one file."""
        known = self.versions.setdefault(RECORD_RUNS.name, [])
        end = min(self.sealed_to + versions, len(known))
        rows = pa.concat_tables([RECORD_RUNS.no_rows, *known[self.sealed_to : end]])
        if rows.num_rows:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(segments, "GROUP_ROWS", self.group_rows)
                rows, directory = seal.sealed(rows)
            name = f"{PREFIX}{len(known)}.snappy.parquet"
            said = self.damage(directory) if self.damage else directory
            self.sealed[name] = DataFile(name, 0, end, rows=rows.num_rows), rows, said
        self.sealed_to = end
        self.move()

    def move(self) -> None:
        """Have a version that moves rows."""
        known = self.versions.setdefault(RECORD_RUNS.name, [])
        known.append(RECORD_RUNS.no_rows)
        self.moved.add(len(known))

    def added(self, table: Table, after: int, until: int) -> Added:
        """Return the rows of some versions, and whether one of them moves rows."""
        is_moved = table is RECORD_RUNS and any(after < each <= until for each in self.moved)
        return Added(self.read_added(table, after, until), is_moved)

    def segments(self, table: Table) -> Segments:
        """Return what is sealed, and what is not."""
        return _InMemory(self)

    def unsealed(self) -> DataFile:
        """Return a file with the rows that are not sealed."""
        return DataFile(f"{self.sealed_to}", 0, 0, rows=self.version(RECORD_RUNS) - self.sealed_to)


@dataclass
class _InMemory(Segments):
    tables: SealedInMemory
    _known: dict[str, Any] = field(default_factory=dict)  # has the files that are distrusted, as it has for Segments

    def newest(self) -> TableFiles:
        """Return the files as they are now."""
        assert self.tables.damage or not self._known, "all is as it is said to be"
        believed, rest = dict[str, Sealed](), self.tables.unsealed()
        unsealed = [(rest.path, rest)]
        for path, (file, _, said) in self.tables.sealed.items():
            if path in self._known:
                unsealed.append((path, file))
            else:
                believed[path] = Sealed(path, file, said)
        return TableFiles(self.tables.version(RECORD_RUNS), believed, unsealed)

    def rows(self, files: TableFiles, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows that are in no file that is believed."""
        for path, _ in files.unsealed:
            if path in self._known:
                yield self.tables.sealed[path][1].select(schema.names)
            else:
                yield self.tables.read_added(RECORD_RUNS, int(path), files.version).select(schema.names)

    def read(self, path: str, group: int, schema: pa.Schema) -> pa.Table:
        """Return a row group."""
        if self.tables.is_unreadable:
            raise OSError(f"{path} cannot be read")
        _, rows, said = self.tables.sealed[path]
        sizes = np.bincount(said.parts["group"], said.parts["rows"]).astype(np.int64)
        return rows.slice(int(sizes[:group].sum()), int(sizes[group])).select(schema.names)
