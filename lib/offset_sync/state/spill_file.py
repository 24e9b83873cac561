"""Room on this machine's disk for what memory has no room for; gone with the process, however it ends.

The file has no name, so nobody else reads it and nothing that tidies up a folder of temporary files can delete it. It
lies where ``TMPDIR`` says.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.state.packed_columns import pack, unpack


class Extent(NamedTuple):
    """A stretch of the file, in bytes; *number* tells it from any other."""

    offset: int
    size: int
    number: int


class SpillFile:
    """Keeps columns of int64; threads may share it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="offset-sync-")  # noqa: SIM115  it lives as long as this object
        self._lock = threading.RLock()
        self._end = self._number = 0
        self._free: dict[int, list[int]] = {}

    def put(self, columns: Sequence[NDArray[np.int64]]) -> Extent:
        """Keep *columns*, shape (rows,) each; raises OSError, and keeps nothing, where the disk has no room."""
        data = pack(columns)
        with self._lock:
            room = _room(len(data))
            before = self._free.get(room)
            offset = before.pop() if before else self._end
            self._end, self._number = max(self._end, offset + room), self._number + 1
            extent = Extent(offset, len(data), self._number)
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._file.fileno(), data[written:], offset + written)
        except OSError:
            self.free(extent)
            raise
        return extent

    def get(self, extent: Extent) -> list[NDArray[np.int64]]:
        """Return what was put."""
        data = bytearray()
        while len(data) < extent.size:
            read = os.pread(self._file.fileno(), extent.size - len(data), extent.offset + len(data))
            if not read:
                raise OSError(f"the spill file ends at {extent.offset + len(data)}, within what was kept there")
            data += read
        return unpack(data)

    def free(self, extent: Extent) -> None:
        """Let others have the room."""
        with self._lock:
            self._free.setdefault(_room(extent.size), []).append(extent.offset)


def _room(size: int) -> int:
    """Return how much is set aside for so many bytes: of few sizes, for others to have; up to an eighth more."""
    step = max(512, (1 << size.bit_length()) >> 4)
    return -(-size // step) * step
