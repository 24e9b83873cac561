"""Records to packed fingerprints inside Spark tasks: the hashes are there, each stretch of a log becomes one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.ingest.run_builder import by_partition, int64_values

FINGERPRINT = "fingerprint"
"""The column of records with the hash of each."""
PACKED_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("start_offset", pa.int64()),
        ("length", pa.int64()),
        ("origin", pa.string()),
        ("origin_start", pa.int64()),
        ("offsets", pa.binary()),
        ("fingerprints", pa.binary()),
    ]
)
"""A row is of *length* records from *start_offset* on; ``offsets`` are theirs where some lack, else null.

Who is asked about origins finds the cluster itself there, which says nothing: these are not known yet.
"""


@dataclass(frozen=True)
class FingerprintBuilder:
    """What a task has to know to pack the records of one cluster; pickled to the executors.

    *is_wanted* says of which streams; what else Spark reads by its pattern is left out. *origins* are as those of
    :class:`RunBuilder`, *names* say which stream a topic is.
    """

    alias: str
    origins: dict[str, str]
    is_wanted: Callable[[str], bool]
    names: Names = SAME_NAMES

    @property
    def aliases(self) -> set[str]:
        """All clusters."""
        return {self.alias, *self.origins.values()}

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack the record batches of one task; rows of a partition come in offset order, partition after partition."""
        for batch in batches:
            for part in by_partition(batch):
                topic = self.names.inside(self.alias, part.column("topic")[0].as_py())
                if self.is_wanted(topic):
                    yield self._packed(part, topic)

    def _packed(self, part: pa.RecordBatch, topic: str) -> pa.RecordBatch:
        offset = int64_values(part.column("offset"))
        first, count = int(offset[0]), len(offset)
        is_whole = int(offset[-1]) - first + 1 == count
        row = {
            "topic": topic,
            "partition": part.column("partition")[0].as_py(),
            "start_offset": first,
            "length": count,
            "origin": self.alias,
            "origin_start": first,
            "offsets": None if is_whole else offset.astype("<i8").tobytes(),
            "fingerprints": int64_values(part.column(FINGERPRINT)).astype("<i8").tobytes(),
        }
        return pa.RecordBatch.from_pylist([row], PACKED_SCHEMA)


def unpacked_offsets(start: int, count: int, offsets: bytes | None) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the offsets of the *count* records of a row."""
    if offsets is None:
        return np.arange(start, start + count, dtype=np.int64)
    return np.frombuffer(offsets, "<i8").astype(np.int64)


def unpacked(fingerprints: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the fingerprints of a row."""
    return np.frombuffer(fingerprints, "<i8").astype(np.int64)
