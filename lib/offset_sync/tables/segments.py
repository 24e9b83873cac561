"""The files of ``record_runs``: sealed ones, each with a directory in its own metadata, and the others.

As with a closed segment of a Kafka log nothing is added to a sealed file. Its rows are sorted by log and offset, and
the directory says where each is::

    row group     0                1                2
    holds         dc1 orders-0     dc1 orders-0     dc1 orders-1, dc1 orders-2, dc2 orders-0
    from offset   0                48,211           0             0             0

The rows of one log in a row group are a *part*. A directory is ignored if it names another file, as a tool that copies
rows may copy the metadata too, or if its checksum does not match.

Followers of the log read rows as they are appended. A start, or a look back, reads the directories of sealed files and
all rows of the others, which are the newest; row groups of sealed files are read on demand.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.model.values import ClusterPartition
from offset_sync.tables.definition import fitted_but_texts
from offset_sync.tables.files import Files, read_in_pieces
from offset_sync.tables.native_calls import native
from offset_sync.tables.transaction_log import DataFile, write_rows

GROUP_ROWS = 1 << 13
"""The most rows of a row group: so many are read for an answer far back in the log."""
PREFIX = "sealed-"
_KEY = b"offset_sync.sealed"
_COLUMNS = ("parts", "spans", "unknown")
_ASCENDING = ("start_offset", "origin_start", "min_timestamp", "max_timestamp")
"""These grow along a log, so they are much smaller as differences; the others have few values."""
_READERS = 8
"""How many files are opened side by side: elsewhere than on a disk each takes a request."""
_MOST_OPEN = 32
Int64s = NDArray[np.int64]
Columns = Mapping[str, Int64s]
PART = ("group", "log", "rows", "start", "end", "first_record", "reach", "records", "runs", "reorders")
PART_TIMES = ("oldest_ms", "newest_ms", "grew_ms", "complete_ms")
PART_KINDS = ("begins", "plain")
SPAN = ("part", "origin", "low", "high", "records", "first_start", "first_length", "first_origin_start", "first_ms")
UNKNOWN = ("part", "start", "length")


@dataclass(frozen=True)
class Directory:
    """The directory of a sealed file. The *parts* are sorted by row group, and in it by their rows.

    *parts* has, of each, the number of its row group, of its log among *logs*, and how many rows it has; from the
    first row (``start``) to where the last one ends (``end``); the first record, and the first offset above the last
    (``reach``); how many records and runs there are, and of how many origins some come out of order (``reorders``);
    when the oldest row, the newest, and the newest with records was indexed, and the last ``complete_until`` in a row
    (0: none). ``begins``: the first row says that a micro-batch begins. ``plain``: all that is known of its records is
    here; 0: it has to be read, as where a cut has taken copies.

    *spans* has, for each origin (its number among *origins*) of a part, its lowest and highest offset, how many records
    it has, and its first run. *unknown* has the unidentified records. Columns have shape (parts,), (spans,) and
    (stretches,).
    """

    logs: Sequence[ClusterPartition]
    origins: Sequence[str]
    parts: Columns
    spans: Columns
    unknown: Columns

    def to_text(self, name: str) -> str:
        """Return the directory as text for the file *name*."""
        columns = {each: {key: values.tolist() for key, values in getattr(self, each).items()} for each in _COLUMNS}
        said = {"name": name, "logs": self.logs, "origins": self.origins, **columns}
        text = json.dumps(said, separators=(",", ":"))
        return f"{zlib.crc32(text.encode()):08x}{text}"

    @classmethod
    def of_text(cls, text: bytes, name: str) -> Directory | None:
        """Return the directory of the file *name*; None where *text* is of another, or torn: the rows can be read."""
        if text[:8] != b"%08x" % zlib.crc32(text[8:]):
            return None
        said = json.loads(text[8:])
        if said["name"] != name:
            return None
        columns = {each: {key: np.array(x, np.int64) for key, x in said[each].items()} for each in _COLUMNS}
        return cls([ClusterPartition(*log) for log in said["logs"]], said["origins"], **columns)

    def first_rows(self) -> Int64s:
        """Return at which row of its row group each part begins, shape (parts,)."""
        group, before = self.parts["group"], np.cumsum(self.parts["rows"]) - self.parts["rows"]
        first: Int64s = before - before[np.searchsorted(group, group)]
        return first


def write_sealed(files: Files, folder: str, rows: pa.Table, directory: Directory, name: str) -> DataFile:
    """Write *rows* as the new file *name*, with row groups by its *directory*; it is invisible without an entry."""
    names = [each for each in _ASCENDING if each in rows.column_names]
    sizes = np.bincount(directory.parts["group"], directory.parts["rows"]).astype(np.int64)
    firsts = np.cumsum(sizes) - sizes
    return write_rows(
        files,
        folder,
        rows.schema,
        (rows.slice(first, size) for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True)),
        name=name,
        metadata={_KEY: directory.to_text(name).encode()},
        use_dictionary=[each for each in rows.column_names if each not in names],
        column_encoding=dict.fromkeys(names, "DELTA_BINARY_PACKED"),
    )


def cut_into_parts(log: Int64s) -> list[list[int]]:
    """Return where the parts of each row group begin, and where its last one ends, of rows by *log*.

    A log with as many rows as an eighth of a row group has row groups of its own; others share theirs.
    """
    edges = [0, *(np.flatnonzero(np.diff(log)) + 1).tolist(), len(log)] if len(log) else []
    groups, shared = list[list[int]](), list[int]()
    for first, end in pairwise(edges):
        if shared and (end - first >= GROUP_ROWS // 8 or end - shared[0] > GROUP_ROWS):
            groups.append([*shared, first])
            shared = []
        if end - first < GROUP_ROWS // 8:
            shared.append(first)
            continue
        count = -(-(end - first) // GROUP_ROWS)
        groups += [[a, b] for a, b in pairwise(np.linspace(first, end, count + 1).astype(int).tolist())]
    return [*groups, [*shared, edges[-1]]] if shared else groups


class Sealed(NamedTuple):
    """A sealed file at *path*, its *file* in the table's log, and its *directory*, where topics are streams."""

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
        """How many rows are not sealed, in files with a row count."""
        return sum(each.rows or 0 for _, each in self.unsealed)


class Segments:
    """The files of ``record_runs`` for the record index; threads may share it.

    *listed* returns version, paths and files of the table now. *called* renames topics to streams in rows of the table,
    and *stream_of* in directories.
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
        """Forget files that are gone; a reader of one reads on."""
        with self._lock:
            for known in (self._known, self._open):
                for path in [each for each in known if each not in paths]:
                    del known[path]

    @native
    def _directory(self, path: str) -> Directory | None:
        with _named(path), self._files.open_parquet(path) as file:
            text = (file.metadata.metadata or {}).get(_KEY, b"")
        found = Directory.of_text(text, path.rpartition("/")[2])
        if found is None:
            return None
        logs = [each._replace(topic=self._stream_of(each.cluster, each.topic)) for each in found.logs]
        return replace(found, logs=logs)

    def rows(self, files: TableFiles, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the unsealed rows of *files*, texts by their dictionaries."""
        for piece in read_in_pieces(self._files, [(path, file.size) for path, file in files.unsealed], schema.names):
            yield self._called(fitted_but_texts(piece, schema))

    @native
    def read(self, path: str, group: int, schema: pa.Schema) -> pa.Table:
        """Return a row group of a sealed file."""
        opened = self._opened(path)
        with opened.lock, _named(path):
            known = [name for name in schema.names if name in opened.file.schema_arrow.names]
            rows = opened.file.read_row_group(group, columns=known, use_threads=False)
        return self._called(fitted_but_texts(rows, schema))

    def _opened(self, path: str) -> _Open:
        with self._lock:
            if (known := self._open.get(path)) is not None:
                self._open.move_to_end(path)
                return known
        opened = _Open(self._files, path)
        with self._lock:
            self._open[path] = opened
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)  # closed when its last reader is done
        return opened


class _Open:
    """An open Parquet file; Arrow's reader serves one thread at a time."""

    def __init__(self, files: Files, path: str) -> None:
        self.lock = threading.Lock()
        with _named(path):
            self.file = files.open_parquet(path)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Turn errors of the Parquet file at *path* into an OSError that names it."""
    try:
        yield
    except pa.ArrowInvalid as problem:
        raise OSError(f"{path}: {problem}; a copy of it, or an earlier version of the table, has its rows") from problem
