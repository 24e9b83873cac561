"""A file system of its own that can be filled to the last page."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PAGE = 4096


class SmallDisk:
    """Has exactly as much room as it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._filler = folder, folder / "filler"

    def leave(self, pages: int) -> None:
        """Fill it up to so many free pages."""
        self.clear()
        with self._filler.open("wb", 0) as filler:
            try:
                while True:
                    filler.write(b"x" * PAGE)
            except OSError:
                pass
        os.truncate(self._filler, max(0, self._filler.stat().st_size - pages * PAGE))

    def clear(self) -> None:
        """Make room."""
        self._filler.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, size: str = "8m") -> Iterator[SmallDisk]:
    """Mount one at *folder*, or skip the test where that is not allowed: nothing else says that a disk is full."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("file systems may not be mounted here")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
