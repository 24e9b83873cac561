"""Files of this machine's disk. Hadoop keeps checksums beside them: what we write or delete takes its own along."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_WITH_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(//[^/]*)?(?P<path>.*)", re.DOTALL)


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


def below(folder: Path) -> list[str]:
    """Return the paths, within *folder*, of all files in it and below but Hadoop's checksums, in no order."""
    found = (Path(place, name).relative_to(folder) for place, _, names in os.walk(folder) for name in names)
    return [str(each) for each in found if not (each.name.startswith(".") and each.name.endswith(".crc"))]


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


def put_text(path: Path, text: str) -> None:
    """Write a file, all of it and stored, unless there is one."""
    written = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        written.write_bytes(text.encode())
        sync(written)
        with suppress(FileExistsError):
            os.link(written, path)
    finally:
        written.unlink(missing_ok=True)
    sync(path.parent)


def write_file(path: Path, write: Callable[[Path], None]) -> int:
    """Store what *write* writes as a new file; return its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path)
    for each in (path, path.parent):
        sync(each)
    return path.stat().st_size


def delete(path: Path) -> None:
    """Delete a file, if it is there, and its checksum."""
    for each in (path, path.with_name(f".{path.name}.crc")):
        each.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Return when a file or folder would survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
