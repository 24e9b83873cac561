"""Files of this machine's disk. Hadoop keeps checksums beside them: what we write or delete takes its own along."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_WITH_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(//[^/]*)?(?P<path>.*)", re.DOTALL)


class LocalFiles:
    """Every path is one of this machine's disk; see :class:`offset_sync.tables.files.Files`. No JVM is asked."""

    def local(self, path: str) -> Path:
        """Return where a path leads."""
        return Path(parted(path)[1])

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""
        return self.local(path).exists()

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in *folder*, sorted; none where there is no such folder."""
        return sorted(name for name, is_file, _ in listed(self.local(folder)) if is_file)

    def modified_ms(self, path: str) -> int:
        """Return when a file was last written, in milliseconds since the epoch."""
        return self.local(path).stat().st_mtime_ns // 1_000_000

    def read_text(self, path: str) -> str:
        """Return the content of a file; raises FileNotFoundError where there is none."""
        return self.local(path).read_bytes().decode()

    def write_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there; it is stored when this returns."""
        own = self.local(path)
        own.parent.mkdir(parents=True, exist_ok=True)
        replace_text(own, text)

    def replace_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there: all of it or nothing."""
        self.write_text(path, text)

    def sync(self, path: str) -> None:
        """Return when a file, and that it is in its folder, would survive a power failure."""
        own = self.local(path)
        for each in (own, own.parent):
            sync(each)

    def make_folder(self, folder: str) -> None:
        """Make *folder* unless it is there."""
        self.local(folder).mkdir(parents=True, exist_ok=True)

    def delete(self, path: str) -> None:
        """Delete a file if it is there."""
        delete(self.local(path))

    def read_parquet(self, path: str, columns: Sequence[str]) -> pa.Table:
        """Return those of *columns* that a Parquet file has; raises FileNotFoundError where there is no file."""
        with self.open_parquet(path) as file:
            return file.read(columns=list(columns))

    def open_parquet(self, path: str, *, encoded: bool = False) -> pq.ParquetFile:
        """Open a Parquet file to be read piece by piece; raises FileNotFoundError where there is none."""
        return open_parquet(self.local(path), encoded)

    def write_parquet(self, path: str, rows: pa.Table) -> tuple[str, int]:
        """Write *rows* as a new file, and store it; return its qualified name and its size in bytes."""
        return write_parquet(self.local(path), rows)

    def write_file(self, path: str, write: Callable[[Path], None]) -> tuple[str, int]:
        """Store what *write* writes as a new file; return the same."""
        return write_file(self.local(path), write)


def parted(path: str) -> tuple[str, str]:
    """Return the scheme of a path, ``""`` where it has none, and the path on its file system."""
    found = _WITH_SCHEME.fullmatch(path)
    return (found["scheme"], found["path"]) if found else ("", path)


def listed(folder: Path) -> list[tuple[str, bool, int]]:
    """Return name, whether it is a file, and when it was written, in ms, of all in *folder* that is no one's scrap."""
    found = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for each in entries:
            with suppress(FileNotFoundError):  # gone since
                if not (each.name.startswith(".") and each.name.endswith((".crc", ".tmp"))):
                    found.append((each.name, each.is_file(), each.stat().st_mtime_ns // 1_000_000))
    return found


def names_below(folder: Path) -> list[str]:
    """Return the names of all files in *folder* and below, in no order."""
    found = (name for _, _, names in os.walk(folder) for name in names)
    return [name for name in found if not (name.startswith(".") and name.endswith(".crc"))]


def replace_text(path: Path, text: str) -> None:
    """Put *text* in the place of a file: all of it or nothing, and stored."""
    written = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        written.write_bytes(text.encode())
        sync(written)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        written.replace(path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise
    sync(path.parent)


def open_parquet(path: Path, encoded: bool) -> pq.ParquetFile:
    """Open a Parquet file; *encoded* reads columns of texts by their dictionaries, as they are stored."""
    texts = [each.name for each in pq.read_schema(path) if pa.types.is_string(each.type)] if encoded else []
    return pq.ParquetFile(path, read_dictionary=texts)


def write_parquet(path: Path, rows: pa.Table) -> tuple[str, int]:
    """Write *rows* as a new file, and store it; return its qualified name and its size in bytes."""
    return write_file(path, lambda place: pq.write_table(rows, place, compression="snappy"))


def write_file(path: Path, write: Callable[[Path], None]) -> tuple[str, int]:
    """Store what *write* writes as a new file; return the same."""
    write(path)
    for each in (path, path.parent):
        sync(each)
    return qualified(path), path.stat().st_size


def qualified(path: Path) -> str:
    """Return *path* as Hadoop writes it: without the ".." that a relative root may begin with."""
    return f"file:{os.path.abspath(path)}"


def delete(path: Path) -> None:
    """Delete a file, if it is there, and its checksum."""
    for each in (path, path.with_name(f".{path.name}.crc")):
        each.unlink(missing_ok=True)


def delete_folder(folder: Path) -> bool:
    """Delete *folder* and all in it; return whether it was there."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return False
    return True


def sync(path: Path) -> None:
    """Return when a file or folder would survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
