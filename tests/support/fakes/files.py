"""Files in memory, see :class:`offset_sync.tables.files.Files`."""

from __future__ import annotations

from typing import Any


class _MemoryFiles(dict[str, str]):
    read_text, write_text = dict[str, str].__getitem__, dict[str, str].__setitem__

    def names(self, folder: str) -> list[str]:
        return sorted(path.removeprefix(f"{folder}/") for path in self if path.startswith(f"{folder}/"))

    def delete(self, path: str) -> None:
        self.pop(path, None)


memory_files: Any = _MemoryFiles
