"""Who could read a password that a job was given: its processes' words and environments, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from cluster.server_process import processes_below

PROC = Path("/proc")
"""Where Linux tells of processes; other systems have no such folder."""


def processes_with(canary: str, root: int) -> list[str]:
    """Return the files of /proc in which a process below *root*, or itself, shows *canary* to others."""
    pids = [root, *(pid for pid, _ in processes_below(root))]
    shown = [PROC / str(pid) / name for pid in pids for name in ("cmdline", "environ")]
    return [str(each) for each in shown if canary.encode() in _bytes_of(each)]


def files_with(canary: str, folder: Path, but: Iterable[Path]) -> list[str]:
    """Return the files below *folder* that hold *canary*; of Parquet files the rows are looked at, too."""
    known = set(but)
    files = [each for each in folder.rglob("*") if each.is_file() and each not in known]
    assert any(each.suffix == ".parquet" for each in files)
    return [str(each) for each in files if any(canary.encode() in part for part in _contents(each))]


def _contents(file: Path) -> Iterator[bytes]:
    yield _bytes_of(file)
    if file.suffix == ".parquet":
        yield str(pq.read_table(file, partitioning=None).to_pylist()).encode()


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # it has ended meanwhile
        return b""
