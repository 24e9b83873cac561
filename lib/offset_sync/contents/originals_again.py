"""Originals that were forgotten, read once more from their log's first record on: the mirror has begun there again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa

from offset_sync.model.values import ClusterPartition
from offset_sync.tables.catalog import RECORD_FINGERPRINTS
from offset_sync.tables.definition import Table

logger = logging.getLogger(__name__)
_NOT_SOONER_MS = 3_600_000
"""A log whose copies have no originals after that is not read again at once: they have none."""
ReadRange = Callable[[ClusterPartition, int], pa.Table]
"""Returns the rows of ``record_fingerprints`` for a log, from an offset on to where it ends now."""


@dataclass
class OriginalsAgain:
    """Reads by *read_range*, in a thread of its own, and has *append* write down what it finds."""

    read_range: ReadRange
    append: Callable[[Table, pa.Table], None]
    table: Table = RECORD_FINGERPRINTS
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "originals again"))
    _reading: dict[ClusterPartition, Future[None]] = field(default_factory=dict)
    _read_ms: dict[ClusterPartition, int] = field(default_factory=dict)

    def read(self, copies: ClusterPartition, originals: ClusterPartition, begin: int, now_ms: int) -> bool:
        """Begin to read *originals* from *begin* on for the log *copies*; False where that was done lately."""
        if now_ms - self._read_ms.get(copies, -_NOT_SOONER_MS) < _NOT_SOONER_MS:
            return False
        self._read_ms[copies] = now_ms
        self._reading[copies] = self._pool.submit(self._read, originals, begin)
        return True

    def is_reading(self, copies: ClusterPartition) -> bool:
        """Return whether originals are being read for the log *copies*."""
        return copies in self._reading

    def done(self) -> set[ClusterPartition]:
        """Return the logs of copies whose originals are read by now, each once; what failed is tried again later."""
        found = {log for log, reading in self._reading.items() if reading.done()}
        for log in found:
            if (problem := self._reading.pop(log).exception()) is not None:
                logger.error("clusters.%s: %s-%d: its originals could not be read again: %s", *log, problem)
                del self._read_ms[log]
        return found

    def _read(self, originals: ClusterPartition, begin: int) -> None:
        self.append(self.table, self.read_range(originals, begin))
