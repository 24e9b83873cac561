"""Rows that say which attempt of a task has made them: two attempts may have read different records."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from offset_sync.ingest.map_batches import MapBatches

ATTEMPT = "attempt"
"""The column that rows have besides: a number by chance."""


@dataclass(frozen=True)
class Signed:
    """Does what *function* does, and signs the rows; pickled to the executors."""

    function: MapBatches

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with a last column that is the same in all of this attempt, and no other."""
        attempt = pa.scalar(secrets.randbits(63), pa.int64())
        for batch in self.function(batches):
            yield batch.append_column(ATTEMPT, pa.repeat(attempt, batch.num_rows))
