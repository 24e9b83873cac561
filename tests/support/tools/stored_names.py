"""What is stored for good, in which order."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest


def note_stored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each file or folder that is stored: its name, or ``rows`` for a file of rows.

    A file that has no name yet is noted by the one that it gets.
    """
    names: list[str] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        name = re.sub(r"^\.(.+)\.\w+\.tmp$", r"\1", path.name)
        names.append("rows" if path.suffix == ".parquet" else name)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    return names
