"""The files of ``record_runs`` at one version: those that are sealed, each with its directory, and the others.

Followers of the log read what is appended as it comes. Whoever starts, or looks back, reads the directories of sealed
files and all rows of the others, which are the newest; a row group of a sealed file is read when somebody asks for it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from offset_sync.tables.data_files import DataFile
from offset_sync.tables.definition import fitted_but_texts
from offset_sync.tables.files import Files, read_in_pieces
from offset_sync.tables.native_calls import native
from offset_sync.tables.sealed_files import PREFIX, Directory, directory_of

_READERS = 8
"""So many files are opened side by side: elsewhere than on a disk that is a wait for each."""
_MOST_OPEN = 32


class Sealed(NamedTuple):
    """A sealed file at *path*, whose *file* is as the table's log has it; topics in its *directory* are streams."""

    path: str
    file: DataFile
    directory: Directory


@dataclass(frozen=True)
class TableFiles:
    """All files of a table at a *version*: those that are *sealed*, by path, and the others."""

    version: int
    sealed: Mapping[str, Sealed]
    unsealed: Sequence[tuple[str, DataFile]]

    @property
    def unsealed_rows(self) -> int:
        """How many rows are not sealed, of files that say how many they have."""
        return sum(each.rows or 0 for _, each in self.unsealed)


class Segments(Protocol):
    """What the record index asks of its table's files; threads may share it."""

    def newest(self) -> TableFiles:
        """Return the files of the table as it is now."""

    def rows(self, files: TableFiles, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows of *files* that are not sealed; raises FileNotFoundError where one was cleaned up."""

    def read(self, path: str, group: int, schema: pa.Schema) -> pa.Table:
        """Return a row group of a sealed file; raises FileNotFoundError as :meth:`rows` does."""

    def distrust(self, path: str) -> None:
        """Believe no directory of the file at *path* any more: its rows are as those of others."""


class FileSegments:
    """Segments of Parquet files. *listed* returns version, paths and files; *called* gives topics other names.

    *called* takes rows as the table has them.
    """

    def __init__(
        self,
        files: Files,
        listed: Callable[[], tuple[int, Sequence[tuple[str, DataFile]]]],
        called: Callable[[pa.Table], pa.Table],
        stream_of: Callable[[str, str], str],
    ) -> None:
        self._files, self._listed, self._called, self._stream_of = files, listed, called, stream_of
        self._known: dict[str, Directory | None] = {}
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()

    def newest(self) -> TableFiles:
        """Return the files of the table as it is now; raises FileNotFoundError where one was cleaned up meanwhile."""
        version, found = self._listed()
        self._forget_all_but({path for path, _ in found})
        wanted = [path for path, _ in found if path.rpartition("/")[2].startswith(PREFIX) and path not in self._known]
        if wanted:
            with ThreadPoolExecutor(min(_READERS, len(wanted))) as readers:
                self._known.update(zip(wanted, readers.map(self._directory, wanted), strict=True))
        sealed = {path: Sealed(path, file, known) for path, file in found if (known := self._known.get(path))}
        return TableFiles(version, sealed, [(path, file) for path, file in found if path not in sealed])

    def _forget_all_but(self, paths: Set[str]) -> None:
        """Forget files that are gone; whoever reads one reads on."""
        with self._lock:
            for known in (self._known, self._open):
                for path in [each for each in known if each not in paths]:
                    del known[path]

    @native
    def _directory(self, path: str) -> Directory | None:
        with _named(path), self._files.open_parquet(path) as file:
            found = directory_of(file, path)
        if found is None:
            return None
        logs = [each._replace(topic=self._stream_of(each.cluster, each.topic)) for each in found.logs]
        return replace(found, logs=logs)

    def rows(self, files: TableFiles, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows of *files* that are not sealed, texts by their dictionaries."""
        for piece in read_in_pieces(self._files, [path for path, _ in files.unsealed], schema.names, encoded=True):
            yield self._called(fitted_but_texts(piece, schema))

    @native
    def read(self, path: str, group: int, schema: pa.Schema) -> pa.Table:
        """Return a row group of a sealed file."""
        opened = self._opened(path)
        with opened.lock, _named(path):
            known = [name for name in schema.names if name in opened.file.schema_arrow.names]
            rows = opened.file.read_row_group(group, columns=known, use_threads=False)
        return self._called(fitted_but_texts(rows, schema))

    def distrust(self, path: str) -> None:
        """Believe no directory of the file at *path* any more."""
        self._known[path] = None

    def _opened(self, path: str) -> _Open:
        with self._lock:
            if (known := self._open.get(path)) is not None:
                self._open.move_to_end(path)
                return known
        opened = _Open(self._files, path)
        with self._lock:
            self._open[path] = opened
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)  # closed when the last who reads it has done so
        return opened


class _Open:
    """An open Parquet file; a reader of Arrow's is one thread's at a time."""

    def __init__(self, files: Files, path: str) -> None:
        self.lock, self._stack = threading.Lock(), ExitStack()
        with _named(path):
            self.file: pq.ParquetFile = self._stack.enter_context(files.open_parquet(path, encoded=True))


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Have what is wrong with the Parquet file at *path* be an OSError that names it."""
    try:
        yield
    except pa.ArrowInvalid as problem:
        raise OSError(f"{path}: {problem}; a copy of it, or an earlier version of the table, has its rows") from problem
