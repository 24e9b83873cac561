"""Files of tables and checkpoints, wherever they are: on this machine's disk, HDFS, S3 and what else delta-rs reaches.

No JVM is needed. On a local disk files are synced, so that a power failure loses nothing that was reported as stored;
other file systems ensure that when a file is closed, and replace a file as a whole.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

from offset_sync.model.errors import PlatformError
from offset_sync.tables.native_calls import native
from offset_sync.tables.remote import Remote, remote_of

BATCH_ROWS = 1 << 17
"""How many rows of a file are in memory at a time where a table is read in pieces."""
_SMALL = 1 << 17
"""A file of up to so many bytes is fetched whole."""
_AT_ONCE = 16
"""How many files are opened together."""
_TESTED = ("s3", "s3a")
_WRITERS = 16
_WITH_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(//[^/]*)?(?P<path>.*)", re.DOTALL)
_THIS_DISK = pafs.LocalFileSystem()


class Files:
    """Reads and writes whole files; threads may share it. What a file system refuses is an OSError.

    Paths are text; those without a scheme are on this machine's disk. *storage* are the options for other file systems
    (``tables.storage``).
    """

    def __init__(self, storage: Mapping[str, str] | None = None) -> None:
        self.storage = dict(storage or {})
        self._systems: dict[str, pafs.FileSystem] = {}
        self._remotes: dict[str, Remote] = {}

    def local(self, path: str) -> Path | None:
        """Return *path* as one of this machine's disk, None if it is elsewhere."""
        scheme, rest = _parted(path)
        return Path(rest) if scheme in ("", "file") else None

    def uri(self, path: str) -> str:
        """Return *path* as delta-rs takes it."""
        own = self.local(path)
        return path if own is None else str(own.absolute())

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in *folder*, sorted; none where there is no such folder."""
        return sorted(self.written_ms(folder))

    def below(self, folder: str) -> list[str]:
        """Return the paths, within *folder*, of all files in it and below, in no order; none where it is not there."""
        return [*self.written_ms(folder, recursive=True)]

    @native
    def written_ms(self, folder: str, *, recursive: bool = False) -> dict[str, int]:
        """Return when each file in *folder* was last written, in ms since the epoch, by the clock of its file system.

        *recursive*: and each below it, by its path within *folder*.
        """
        system, rest = self._system(folder)
        found = system.get_file_info(pafs.FileSelector(rest, recursive=recursive, allow_not_found=True))
        # Found paths have one slash where the given one has several in a row.
        first = len(re.sub("/+", "/", rest).rstrip("/")) + 1
        at_ms = {each: int(each.mtime_ns or 0) // 1_000_000 for each in found if each.is_file}
        return {each.path[first:] if recursive else each.base_name: ms for each, ms in at_ms.items()}

    @native
    def read(self, path: str) -> bytes:
        """Return the content of a file, by one request; raises FileNotFoundError where there is none."""
        if (own := self.local(path)) is not None:
            return own.read_bytes()
        remote, rest = self._remote(path)
        return remote.read(rest)

    def read_text(self, path: str) -> str:
        """Return the content of a file as text; raises FileNotFoundError where there is none."""
        return self.read(path).decode()

    def write_text(self, path: str, text: str) -> None:
        """Write or replace a file, as a whole or not at all; it is stored when this returns."""
        self._put(path, text.encode(), is_new=False)
        if (own := self.local(path)) is not None:
            fsync(own.parent)

    def put_new(self, path: str, content: bytes) -> bool:
        """Write a file as a whole if it is absent, by one request; return False where it is there.

        Of several that write it at once one succeeds. After an OSError it may be there. On this disk its content is
        stored then, and its name by :meth:`sync`.
        """
        return self._put(path, content, is_new=True)

    @native
    def _put(self, path: str, content: bytes, *, is_new: bool) -> bool:
        if (own := self.local(path)) is None:
            remote, rest = self._remote(path)
            return remote.put(rest, content, is_new=is_new)
        own.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_whole(own, content, os.link if is_new else os.replace)
        except FileExistsError:
            return False
        return True

    def sync(self, path: str) -> None:
        """Return when a file, and its entry in its folder, would survive a power failure."""
        if (own := self.local(path)) is not None:
            for each in (own, own.parent):
                fsync(each)

    def sync_folders(self, folder: str) -> None:
        """Return when *folder*, and every one above it, would survive a power failure."""
        if (own := self.local(folder)) is not None:
            for each in (own.absolute(), *own.absolute().parents):
                with suppress(PermissionError):  # of another user: it existed before
                    fsync(each)

    @native
    def delete(self, path: str) -> None:
        """Delete a file if it is there."""
        system, rest = self._system(path)
        with suppress(FileNotFoundError):
            system.delete_file(rest)

    def open_parquet(self, path: str) -> pq.ParquetFile:
        """Open a Parquet file to be read piece by piece; raises FileNotFoundError where there is none.

        Columns of texts are read by their dictionaries, as they are stored.
        """
        return _parquet_in(self.open(path))

    @native
    def open(self, path: str) -> pa.NativeFile:
        """Open a file to be read; a small one is fetched whole, as elsewhere each read is a request.

        Raises FileNotFoundError where there is none.
        """
        system, rest = self._system(path)
        file = system.open_input_file(rest)
        if file.size() > _SMALL:
            return file
        with file:
            return pa.BufferReader(file.read())

    @native
    def write_parquet(
        self,
        path: str,
        pieces: Iterable[pa.Table],
        schema: pa.Schema,
        metadata: Mapping[bytes, bytes] | None = None,
        **encoding: object,
    ) -> tuple[int, pq.FileMetaData]:
        """Write *pieces* of *schema* as a new file, a row group each; return its size in bytes, and its footer.

        *metadata* is added to the file's own; *encoding* is for :class:`pyarrow.parquet.ParquetWriter`.
        """
        footers, stream = list[pq.FileMetaData](), pa.BufferOutputStream()
        with pq.ParquetWriter(stream, schema, metadata_collector=footers, **encoding) as writer:
            for piece in pieces:
                writer.write_table(piece)
            writer.add_key_value_metadata(metadata or {})
        content = stream.getvalue().to_pybytes()
        if (own := self.local(path)) is None:
            self._put(path, content, is_new=False)
        else:
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_bytes(content)
            self.sync(path)
        return len(content), footers[0]

    def opened(self, wanted: Sequence[tuple[str, int]]) -> Iterator[pa.NativeFile]:
        """Yield files, of which path and size are given, in this order; raises FileNotFoundError where there is none.

        Elsewhere than on this disk some are opened together, and small ones fetched by one request: delta-rs requests
        the size of a file that it opens, and blocks all threads meanwhile.
        """
        if not wanted or self.local(wanted[0][0]) is not None:
            yield from (self.open(path) for path, _ in wanted)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for first in range(0, len(wanted), _AT_ONCE):
                yield from pool.map(self._opened, wanted[first : first + _AT_ONCE])

    def _opened(self, wanted: tuple[str, int]) -> pa.NativeFile:
        path, size = wanted
        return pa.BufferReader(self.read(path)) if size <= _SMALL else self.open(path)

    def _remote(self, path: str) -> tuple[Remote, str]:
        """Return what writes and reads whole files at the place of *path*, and the path there."""
        root, rest = self._parts(path)
        if root not in self._remotes:
            self._remotes[root] = remote_of(root, self.storage)
        return self._remotes[root], rest

    def _system(self, path: str) -> tuple[pafs.FileSystem, str]:
        """Return the file system of a path, and the path there."""
        if self.local(path) is not None:
            return _THIS_DISK, self.uri(path)
        root, rest = self._parts(path)
        if root not in self._systems:
            try:
                self._systems[root] = pafs.PyFileSystem(DeltaStorageHandler(root, self.storage))
            except DeltaError as problem:
                raise OSError(str(problem)) from problem
        return self._systems[root], rest

    def _parts(self, path: str) -> tuple[str, str]:
        scheme, _, rest = self.uri(path).partition("://")
        authority, _, rest = re.sub("/+", "/", rest).partition("/")
        return f"{scheme}://{authority}/", rest


def read_in_pieces(files: Files, wanted: Sequence[tuple[str, int]], names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield those of the columns *names* that Parquet files have, :data:`BATCH_ROWS` at a time at most.

    *wanted* as in :meth:`Files.opened`. Texts are read by their dictionaries.
    """
    for source in files.opened(wanted):
        with source:
            file = _parquet_in(source)
            known = [name for name in names if name in file.schema_arrow.names]
            for batch in file.iter_batches(BATCH_ROWS, columns=known):
                yield pa.Table.from_batches([batch])


def _parquet_in(source: pa.NativeFile) -> pq.ParquetFile:
    file = pq.ParquetFile(source)
    texts = [each.name for each in file.schema_arrow if pa.types.is_string(each.type)]
    return pq.ParquetFile(source, read_dictionary=texts, metadata=file.metadata)


def _parted(path: str) -> tuple[str, str]:
    """Return the scheme of a path, ``""`` where it has none, and the path on its file system."""
    found = _WITH_SCHEME.fullmatch(path)
    return (found["scheme"], found["path"]) if found else ("", path)


# On this machine's disk


def _write_whole(path: Path, content: bytes, give_name: Callable[[Path, Path], object]) -> None:
    """Write a file, and store all of it before it gets its name."""
    written = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        written.write_bytes(content)
        fsync(written)
        give_name(written, path)
    finally:
        written.unlink(missing_ok=True)


def fsync(path: Path) -> None:
    """Return when a file or folder would survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# What logs of tables rely on


def check_storage(root: str, files: Files) -> None:
    """Return if :meth:`Files.put_new` replaces no file below *root*; else entries of logs would be lost silently.

    HDFS, ABFS, GCS and a disk refuse that. On S3 a put replaces unless it has the header ``If-None-Match``, which ours
    have; a server that does not know it may ignore it. Raises OSError where it cannot be written to, and
    PlatformError, in one line, where two puts of the same file at the same moment both succeed. Leaves no file behind.
    """
    if files.uri(root).partition(":")[0] not in _TESTED:
        return
    path = f"{root}/.offset-sync-{uuid.uuid4()}"
    try:
        is_ignored = _are_two_accepted(files, path)
    finally:
        files.delete(path)
    if is_ignored:
        raise PlatformError(
            f"{root}: the server ignores If-None-Match, so drivers could overwrite each other's entries; use a "
            "server that knows it, see docs/deployment.md, Tables and checkpoints"
        )


def _are_two_accepted(files: Files, path: str) -> bool:
    """Return whether several puts of a new file succeed: one server looks first, and then writes."""
    with ThreadPoolExecutor(_WRITERS) as pool:
        return sum(pool.map(files.put_new, [path] * _WRITERS, [b"test"] * _WRITERS)) > 1


class Places(Protocol):
    """The root of the tables, and how its storage is reached."""

    @property
    def root(self) -> str: ...
    @property
    def storage(self) -> Mapping[str, str]: ...


class HasPlaces(Protocol):
    """A configuration, as far as tables need one."""

    @property
    def tables(self) -> Places: ...


def files_of(config: HasPlaces) -> Files:
    """Return the files of *config*'s tables and checkpoints."""
    return Files(config.tables.storage)


def for_hadoop(path: str) -> str:
    """Return *path* as Hadoop takes it, whatever its default file system is."""
    own = Files().local(path)
    return path if own is None else f"file://{own.absolute()}"
