"""A disk that forgets what was not synced: a file needs its content synced, and its name by its folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

_Facts = tuple[int, int]
DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda _whole: None,
    "empty": lambda _whole: b"",
    "cut off": lambda whole: whole[: len(whole) // 2],
    "without its last line": lambda whole: whole[: whole.rstrip(b"\n").rfind(b"\n") + 1],
    "zeros": lambda whole: bytes(len(whole)),
    "whole": lambda whole: whole,
}


class Disk:
    """The files below *root*; all that is there now is stored."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._contents = set[_Facts]()
        self._names: dict[Path, _Facts] = {}
        self.store_all()

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Note what is synced from now on; nothing is, as no power fails."""
        patch.setattr(os, "fsync", self._sync)

    def store_all(self) -> None:
        self._names = {path: facts(path) for path in self.files()}
        self._contents = {*self._names.values()}

    def files(self) -> list[Path]:
        return [
            Path(folder, name) for folder, _, names in os.walk(self._root) for name in names if name[-5:] != ".lock"
        ]

    def _sync(self, handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if not path.is_dir():
            self._contents.add(facts(path))  # it may get another name
            return
        if self._root in (path, *path.parents):
            self._names |= {each: facts(each) for each in path.iterdir() if each.is_file()}

    def fail(self, of_logs: str, of_data: str) -> None:
        """Leave what was not stored in this :data:`DAMAGE`; then all is stored as it is."""
        for path in self.files():
            now = facts(path)
            is_content, is_named = now in self._contents, self._names.get(path, (0, 0))[0] == now[0]
            if is_content and is_named:
                continue
            damage = of_logs if path.parent.name == "_delta_log" else of_data
            whole, at_ns = path.read_bytes(), path.stat().st_mtime_ns
            left = DAMAGE[damage](whole)
            if left is None or (is_content and left != whole):
                left = (whole if is_content else b"") if is_named else None
            if left is None:
                path.unlink()
            elif left != whole:
                path.write_bytes(left)
                os.utime(path, ns=(at_ns, at_ns))
        self.store_all()


def facts(path: Path) -> _Facts:
    """Return what tells one content of a file from another: files are written once, or replaced."""
    found = path.stat()
    return found.st_ino, found.st_size
