"""Remember what an installed folder was made from, so that making it again costs nothing. Standard library only."""

from __future__ import annotations

import hashlib
from pathlib import Path

_NAME = ".made-from"


def digest(*parts: str) -> str:
    """Return a short name for *parts*: the same text gives the same name, on every machine."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def is_current(folder: Path, made_from: str) -> bool:
    """True where *folder* was completed from *made_from*; False also where that was never written down."""
    stamp = folder / _NAME
    return stamp.is_file() and stamp.read_text() == made_from


def forget(folder: Path) -> None:
    """Let *folder* count as unfinished: to be called before it is touched, so that a stop halfway is noticed."""
    (folder / _NAME).unlink(missing_ok=True)


def remember(folder: Path, made_from: str) -> None:
    """Write down that *folder* is complete."""
    (folder / _NAME).write_text(made_from)
