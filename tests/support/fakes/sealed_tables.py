"""Tables in memory of which the oldest rows of ``record_runs`` are sealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

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
    """What :meth:`seal` has sealed is in memory.

    A version without rows is the entry that moves them. *group_rows* are those of a row group; none *is_unreadable*,
    or all.
    """

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
            name = f"{PREFIX}{len(known)}.snappy.parquet"
            self.sealed[name] = self._sealed(DataFile(name, 0, end), rows)
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
        found = super().added(table, after, until)
        return found._replace(is_moved=is_moved or found.is_cut)

    def rewrite(self, change: Callable[[pa.Table], pa.Table]) -> None:
        """Change the rows that are sealed too, into other files."""
        super().rewrite(change)
        for name, (file, rows, _) in list(self.sealed.items()):
            if (left := change(rows)) is not rows:
                del self.sealed[name]
                if left.num_rows:
                    number = self.version(RECORD_RUNS)
                    self.sealed[f"{PREFIX}{number}-{name}"] = self._sealed(file, left)

    def _sealed(self, file: DataFile, rows: pa.Table) -> tuple[DataFile, pa.Table, Directory]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(segments, "GROUP_ROWS", self.group_rows)
            rows, directory = seal.sealed(rows)
        return file._replace(rows=rows.num_rows), rows, directory

    def segments(self, table: Table) -> Segments:
        """Return what is sealed, and what is not."""
        return _InMemory(self)

    def unsealed(self) -> DataFile:
        """Return a file with the rows that are not sealed."""
        return DataFile(f"{self.sealed_to}", 0, 0, rows=self.version(RECORD_RUNS) - self.sealed_to)


@dataclass
class _InMemory(Segments):
    tables: SealedInMemory

    def newest(self) -> TableFiles:
        """Return the files as they are now."""
        rest = self.tables.unsealed()
        sealed = {path: Sealed(path, file, said) for path, (file, _, said) in self.tables.sealed.items()}
        return TableFiles(self.tables.version(RECORD_RUNS), sealed, [(rest.path, rest)])

    def rows(self, files: TableFiles, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows that are not sealed."""
        for path, _ in files.unsealed:
            yield self.tables.read_added(RECORD_RUNS, int(path), files.version).select(schema.names)

    def read(self, path: str, group: int, schema: pa.Schema) -> pa.Table:
        """Return a row group."""
        if self.tables.is_unreadable:
            raise OSError(f"{path} cannot be read")
        _, rows, said = self.tables.sealed[path]
        sizes = np.bincount(said.parts["group"], said.parts["rows"]).astype(np.int64)
        return rows.slice(int(sizes[:group].sum()), int(sizes[group])).select(schema.names)
