"""When a group went back last: found in a history of any size that comes in any order.

A commit below the one before it is a rewind, and which one that is only all of them together say. Commits are numbers
here, 32 bytes each; more than a bounded many wait on disk, parted by their keys.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT

HELD_ROWS = 2_000_000
_PARTS = 64
Int64s: TypeAlias = NDArray[np.int64]


class Rewinds:
    """Commits of keys by their numbers; *held* so many in memory. Close it: the files go."""

    def __init__(self, held: int = HELD_ROWS) -> None:
        self._most = held
        self._held: list[Int64s] = []
        self._rows = 0
        self._stack = ExitStack()
        self._folder: Path | None = None

    def __enter__(self) -> Rewinds:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._stack.close()

    def add(self, code: Int64s, place: Int64s, offset: Int64s, at_ms: Int64s) -> None:
        """Take in commits of the keys *code*: where each stands among those of its key, its offset, and when it was."""
        self._held.append(np.stack([code, place, offset, at_ms], axis=1))
        self._rows += len(code)
        if self._rows > self._most:
            self._put_away()

    def last_ms(self, keys: int) -> Int64s:
        """Return for each of so many *keys* when it went back last; ABSENT where it never did."""
        found = np.full(keys, ABSENT, np.int64)
        for rows in self._parts():
            code, _, offset, at_ms = rows[np.lexsort((rows[:, 1], rows[:, 0]))].T
            went_back = (code[1:] == code[:-1]) & (offset[1:] < offset[:-1])
            np.maximum.at(found, code[1:][went_back], at_ms[1:][went_back])
        return found

    def _parts(self) -> Iterator[Int64s]:
        if self._folder is None:
            yield np.concatenate([np.empty((0, 4), np.int64), *self._held])
            return
        self._put_away()
        for file in sorted(self._folder.iterdir()):
            yield np.fromfile(file, np.int64).reshape(-1, 4)

    def _put_away(self) -> None:
        if self._folder is None:
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="offset-sync-")))
        rows = np.concatenate([np.empty((0, 4), np.int64), *self._held])
        part = rows[:, 0] % _PARTS
        for number in np.unique(part).tolist():
            with (self._folder / str(number)).open("ab") as file:
                rows[part == number].tofile(file)
        self._held, self._rows = [], 0
