"""Room on this machine's disk for what memory has no room for; gone with the process, however it ends.

The file has no name, so nobody else reads it and nothing that tidies up a folder of temporary files can delete it. It
lies where ``TMPDIR`` says.
"""

from __future__ import annotations

import os
import tempfile
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Extent(NamedTuple):
    """A stretch of the file, in bytes; *columns* tells the shape of what is in it, *number* tells it from any other."""

    offset: int
    size: int
    columns: int
    number: int


class SpillFile:
    """Keeps tables of int64, shape (columns, rows); threads may share it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="offset-sync-")  # noqa: SIM115  it lives as long as this object
        self._lock = threading.Lock()
        self._end = self._number = 0
        self._free: dict[int, list[int]] = {}

    def put(self, table: NDArray[np.int64]) -> Extent:
        """Keep *table*; raises OSError, and keeps nothing, where the disk has no room."""
        data = np.ascontiguousarray(table).tobytes()
        with self._lock:
            before = self._free.get(len(data))
            offset = before.pop() if before else self._end
            self._end, self._number = max(self._end, offset + len(data)), self._number + 1
            extent = Extent(offset, len(data), len(table), self._number)
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._file.fileno(), data[written:], offset + written)
        except OSError:
            self.free(extent)
            raise
        return extent

    def get(self, extent: Extent) -> NDArray[np.int64]:
        """Return what was put."""
        data = bytearray()
        while len(data) < extent.size:
            read = os.pread(self._file.fileno(), extent.size - len(data), extent.offset + len(data))
            if not read:
                raise OSError(f"the spill file ends at {extent.offset + len(data)}, within what was kept there")
            data += read
        return np.frombuffer(data, np.int64).reshape(extent.columns, -1)

    def free(self, extent: Extent) -> None:
        """Let others have the room."""
        with self._lock:
            self._free.setdefault(extent.size, []).append(extent.offset)
