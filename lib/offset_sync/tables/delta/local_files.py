"""Files of this machine's disk. Hadoop keeps checksums beside them: what we write or delete takes its own along."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_PART_ROWS = 1 << 17


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


def read_parquet(path: Path, columns: Sequence[str]) -> pa.Table:
    """Return those of *columns* that a file has."""
    with pq.ParquetFile(path) as file:
        return file.read(columns=list(columns))


def parquet_parts(path: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the same in pieces of at most :data:`_PART_ROWS`; columns of texts are encoded by dictionaries."""
    schema = pq.read_schema(path)
    texts = [each.name for each in schema if each.name in columns and pa.types.is_string(each.type)]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(_PART_ROWS, columns=list(columns)):
            yield pa.Table.from_batches([batch])


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
