"""Files of whatever the tables and checkpoints lie on: this machine's disk, HDFS, S3 and what else delta-rs reaches.

No JVM is asked. A local disk is written so that a power failure costs nothing that was said to be stored; the other
file systems see to it when a file is closed, and put a file in the place of another as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

from offset_sync.tables import local_files
from offset_sync.tables.local_files import parted
from offset_sync.tables.native_calls import native
from offset_sync.tables.places import HasPlaces, default_file_system

Sink: TypeAlias = Path | pa.NativeFile
"""What a Parquet file is written to."""
BATCH_ROWS = 1 << 17
"""So many rows of a file are in memory at a time where a table is read in pieces."""
AtLeast: TypeAlias = tuple[str, int]
"""A column, and the least value of it that is wanted."""
_BUFFER = 1 << 16


class Files:
    """Reads and writes whole files; threads may share it. What a file system refuses is an OSError.

    Paths are text, with a scheme or without; *default* is the file system of those without, "" for this machine's disk.
    *storage* says how what lies elsewhere is reached (``tables.storage``).
    """

    def __init__(self, storage: Mapping[str, str] | None = None, default: str = "") -> None:
        self.storage, self.default = dict(storage or {}), default
        self._systems: dict[str, pafs.FileSystem] = {}

    def __reduce__(self) -> tuple[type[Files], tuple[dict[str, str], str]]:
        return Files, (self.storage, self.default)  # for tasks

    def local(self, path: str) -> Path | None:
        """Return *path* as one of this machine's disk, None if it lies elsewhere."""
        scheme, rest = parted(path)
        return Path(rest) if scheme == "file" or not (scheme or self.default) else None

    def uri(self, path: str) -> str:
        """Return *path* as delta-rs takes it."""
        if (own := self.local(path)) is not None:
            return str(own.absolute())
        return path if parted(path)[0] else f"{self.default}/{path.lstrip('/')}"

    @native
    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""
        if (own := self.local(path)) is not None:
            return own.exists()
        system, rest = self._system(path)
        return bool(system.get_file_info(rest).type != pafs.FileType.NotFound or self._listed(path))

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in *folder*, sorted; none where there is no such folder."""
        return sorted(self.written_ms(folder))

    @native
    def written_ms(self, folder: str) -> dict[str, int]:
        """Return when each of the files in *folder* was last written, in ms since the epoch, by name."""
        if (own := self.local(folder)) is not None:
            return {name: at_ms for name, is_file, at_ms in local_files.listed(own) if is_file}
        return {each.base_name: _written_ms(each) for each in self._listed(folder) if each.is_file}

    @native
    def modified_ms(self, path: str) -> int:
        """Return when a file was last written, in ms since the epoch, by the clock of its file system."""
        if (own := self.local(path)) is not None:
            return own.stat().st_mtime_ns // 1_000_000
        system, rest = self._system(path)
        found = system.get_file_info(rest)
        if not found.is_file:
            raise FileNotFoundError(path)
        return _written_ms(found)

    @native
    def below(self, folder: str) -> list[str]:
        """Return the paths, within *folder*, of all files in it and below, in no order; none where it is not there."""
        if (own := self.local(folder)) is not None:
            return local_files.below(own)
        first = len(self._system(folder)[1].rstrip("/")) + 1
        return [each.path[first:] for each in self._listed(folder, recursive=True) if each.is_file]

    @native
    def read_text(self, path: str) -> str:
        """Return the content of a file; raises FileNotFoundError where there is none."""
        if (own := self.local(path)) is not None:
            return own.read_bytes().decode()
        system, rest = self._system(path)
        with system.open_input_file(rest) as file:
            return bytes(file.read()).decode()

    @native
    def write_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there: all of it or nothing; it is stored when this returns."""
        if (own := self.local(path)) is not None:
            own.parent.mkdir(parents=True, exist_ok=True)
            local_files.replace_text(own, text)
            return
        system, rest = self._system(path)
        with system.open_output_stream(rest, buffer_size=_BUFFER) as file:
            file.write(text.encode())

    def put_text(self, path: str, text: str) -> None:
        """Write a file unless there is one: as one step on a local disk only."""
        if (own := self.local(path)) is not None:
            local_files.put_text(own, text)
        elif not self.exists(path):
            self.write_text(path, text)

    def sync(self, path: str) -> None:
        """Return when a file, and that it is in its folder, would survive a power failure."""
        if (own := self.local(path)) is not None:
            for each in (own, own.parent):
                local_files.sync(each)

    def sync_folders(self, folder: str) -> None:
        """Return when *folder*, and every one above it, would survive a power failure."""
        if (own := self.local(folder)) is not None:
            for each in (own.absolute(), *own.absolute().parents):
                with suppress(PermissionError):  # somebody else's: it was there
                    local_files.sync(each)

    @native
    def delete(self, path: str) -> None:
        """Delete a file if it is there."""
        if (own := self.local(path)) is not None:
            local_files.delete(own)
            return
        system, rest = self._system(path)
        try:
            system.delete_file(rest)
        except FileNotFoundError:
            return

    def read_parquet(self, path: str, columns: Sequence[str]) -> pa.Table:
        """Return those of *columns* that a Parquet file has; raises FileNotFoundError where there is no file."""
        with self.open_parquet(path) as file:
            return file.read(columns=[name for name in columns if name in file.schema_arrow.names])

    @contextmanager
    def open_parquet(self, path: str, *, encoded: bool = False) -> Iterator[pq.ParquetFile]:
        """Open a Parquet file to be read piece by piece; raises FileNotFoundError where there is none.

        *encoded* reads columns of texts by their dictionaries, as they are stored.
        """
        texts, metadata = list[str](), None
        if encoded:
            with pq.ParquetFile(self._source(path)) as file:
                texts = [each.name for each in file.schema_arrow if pa.types.is_string(each.type)]
                metadata = file.metadata
        with pq.ParquetFile(self._source(path), read_dictionary=texts, metadata=metadata) as file:
            yield file

    def _source(self, path: str) -> Path | pa.NativeFile:
        if (own := self.local(path)) is not None:
            return own
        system, rest = self._system(path)
        return system.open_input_file(rest)

    def write_parquet(self, path: str, rows: pa.Table) -> int:
        """Write *rows* as a new file, and store it; return its size in bytes."""
        return self.write_file(path, lambda sink: pq.write_table(rows, sink, compression="snappy"))

    @native
    def write_file(self, path: str, write: Callable[[Sink], None]) -> int:
        """Store what *write* writes as a new file; return its size in bytes."""
        if (own := self.local(path)) is not None:
            return local_files.write_file(own, write)
        system, rest = self._system(path)
        with system.open_output_stream(rest) as file:
            write(file)
            size = int(file.tell())
        return size

    def _listed(self, folder: str, *, recursive: bool = False) -> list[Any]:
        system, rest = self._system(folder)
        return list(system.get_file_info(pafs.FileSelector(rest, recursive=recursive, allow_not_found=True)))

    def _system(self, path: str) -> tuple[pafs.FileSystem, str]:
        """Return the file system of a path that lies elsewhere, and the path there."""
        scheme, _, rest = self.uri(path).partition("://")
        authority, _, rest = rest.partition("/")
        root = f"{scheme}://{authority}/"
        if root not in self._systems:
            try:
                self._systems[root] = pafs.PyFileSystem(DeltaStorageHandler(root, self.storage))
            except DeltaError as problem:
                raise OSError(str(problem)) from problem
        return self._systems[root], rest


def files_of(config: HasPlaces) -> Files:
    """Return the files of *config*'s tables and checkpoints."""
    return Files(config.tables.storage, default_file_system(os.environ))


def _written_ms(found: Any) -> int:
    return int(found.mtime_ns or 0) // 1_000_000


def read_in_pieces(
    files: Files, paths: Sequence[str], names: Sequence[str], at_least: AtLeast | None = None, *, encoded: bool = False
) -> Iterator[pa.Table]:
    """Yield those of the columns *names* that Parquet files have, :data:`BATCH_ROWS` at a time at most.

    *at_least* leaves out stretches of files of which the statistics say that all values of a column are smaller;
    *encoded* reads texts by their dictionaries.
    """
    for path in paths:
        with files.open_parquet(path, encoded=encoded) as file:
            groups = [n for n in range(file.num_row_groups) if at_least is None or _may_reach(file, n, *at_least)]
            known = [name for name in names if name in file.schema_arrow.names]
            for batch in file.iter_batches(BATCH_ROWS, row_groups=groups, columns=known):
                yield pa.Table.from_batches([batch])


def _may_reach(file: pq.ParquetFile, group: int, name: str, least: int) -> bool:
    if name not in file.schema_arrow.names:
        return True
    statistics = file.metadata.row_group(group).column(file.schema_arrow.names.index(name)).statistics
    return statistics is None or not statistics.has_min_max or statistics.max >= least
