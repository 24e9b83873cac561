"""Tables in memory of which the oldest rows of ``record_runs`` are sealed, in files as they are on any disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fakes.tables import MemoryTables
from offset_sync.state import seal
from offset_sync.tables import segments
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.segments import PREFIX, Directory, Sealed, Segments, TableFiles, write_sealed
from offset_sync.tables.transaction_log import Added, DataFile


@dataclass
class SealedInMemory(MemoryTables):
    """What :meth:`seal` has sealed is in memory; *damage* changes what is said of its rows.

    A version without rows is the entry that moves them. *group_rows* are those of a row group; none *is_unreadable*, or
    all.
    """

    damage: Callable[[Directory], Directory] = lambda directory: directory
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
            said = self.damage(directory)
            self.sealed[self.store(name, rows, said)] = DataFile(name, 0, end, rows=rows.num_rows), rows, said
        self.sealed_to = end
        self.move()

    def store(self, name: str, rows: pa.Table, directory: Directory) -> str:
        """Store the sealed rows; return the path."""
        return name

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

    def newest(self) -> TableFiles:
        """Return the files as they are now."""
        sealed = {path: Sealed(path, file, said) for path, (file, _, said) in self.tables.sealed.items()}
        rest = self.tables.unsealed()
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

    def distrust(self, path: str) -> None:
        """Raise AssertionError: all is as it is said to be."""
        raise AssertionError(path)


class Folder:
    """A folder for files, which is deleted with its owner."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="sealed-"))

    def __del__(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


@dataclass
class SealedTables(SealedInMemory):
    """The same with files in a *folder*; *groups_read* counts row groups."""

    folder: Folder = field(default_factory=Folder)
    groups_read: int = 0

    def store(self, name: str, rows: pa.Table, directory: Directory) -> str:
        """Store what is sealed in a file."""
        write_sealed(Files(), str(self.folder.path), rows, directory, name)
        return str(self.folder.path / name)

    def segments(self, table: Table) -> Segments:
        """Return the files, and what is in none."""
        return _SealedSegments(self)


class _SealedSegments(Segments):
    def __init__(self, tables: SealedTables) -> None:
        super().__init__(Files(), self._files_now, lambda rows: rows, lambda _cluster, topic: topic)
        self._tables = tables

    def _files_now(self) -> tuple[int, Sequence[tuple[str, DataFile]]]:
        rest, sealed = self._tables.unsealed(), self._tables.sealed.items()
        return self._tables.version(RECORD_RUNS), [*((path, file) for path, (file, *_) in sealed), (rest.path, rest)]

    def rows(self, files: TableFiles, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows that are in no file that is believed."""
        for path, each in files.unsealed:
            if path in self._tables.sealed:
                with Files().open_parquet(path) as file:
                    yield file.read(columns=schema.names)
            else:
                yield self._tables.read_added(RECORD_RUNS, int(each.path), files.version).select(schema.names)

    def read(self, path: str, group: int, schema: pa.Schema) -> pa.Table:
        """Return a row group, and count it."""
        self._tables.groups_read += 1
        return super().read(path, group, schema)
