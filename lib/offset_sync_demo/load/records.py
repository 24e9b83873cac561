"""The identity of a record, in its value: independent of the mirror's headers and of Offset Sync's tables."""

from __future__ import annotations

import functools
import zlib
from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync_demo.kafka.clients import Partition

VALUE_BYTES = 200
_NUMBER_BITS = 32


def record_value(alias: str, topic: str, partition: int, number: int) -> bytes:
    """Return the value of the *number*-th record produced at cluster *alias* into this partition."""
    return f"{alias}:{topic}:{partition}:{number} ".encode().ljust(VALUE_BYTES, b".")


def record_id(alias: str, number: int) -> int:
    """Return the identity within a topic partition as 64 bits: a hash of the alias, then the number."""
    return _origin_bits(alias) | number


def value_id(value: bytes) -> int:
    """Return the :func:`record_id` of a value; raises ValueError if it is not from :func:`record_value`."""
    head, space, _ = value.partition(b" ")
    names = head.split(b":")
    if not space or len(names) != 4:
        raise ValueError(f"not a record of the workload: {value[:60]!r}")
    return _origin_bits(names[0].decode()) | int(names[3])


def describe_id(identity: int, aliases: list[str]) -> str:
    """Return ``alias:number`` for messages; an alias that is not in *aliases* becomes its hash."""
    names = {_origin_bits(alias): alias for alias in aliases}
    origin = identity >> _NUMBER_BITS << _NUMBER_BITS
    return f"{names.get(origin, hex(origin))}:{identity - origin}"


@functools.cache
def _origin_bits(alias: str) -> int:
    return zlib.crc32(alias.encode()) << _NUMBER_BITS


@dataclass(frozen=True)
class Records:
    """Records of one topic partition at one cluster, in the order they were read or acknowledged.

    Shapes all (n,): *ids* uint64, *offsets* int64, *timestamps* int64 in milliseconds.
    """

    ids: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)


class RecordLog:
    """Records in the order of arrival, 24 bytes each; one thread adds, others may read."""

    def __init__(self) -> None:
        self._ids, self._offsets, self._timestamps = array("Q"), array("q"), array("q")

    def add(self, identity: int, offset: int, timestamp: int) -> None:
        """Add one record."""
        self._timestamps.append(timestamp)
        self._offsets.append(offset)
        self._ids.append(identity)

    def __len__(self) -> int:
        return len(self._ids)

    def to_records(self) -> Records:
        """Return a copy of the records added so far."""
        count = len(self._ids)  # grows last: a record that is being added is omitted
        return Records(
            np.array(self._ids[:count], dtype=np.uint64),
            np.array(self._offsets[:count], dtype=np.int64),
            np.array(self._timestamps[:count], dtype=np.int64),
        )


def no_records() -> Records:
    """Return no records."""
    return RecordLog().to_records()


def log_of(logs: dict[Partition, RecordLog], partition: Partition) -> RecordLog:
    """Return the log of *partition*; created for its first record."""
    log = logs.get(partition)
    if log is None:
        log = logs[partition] = RecordLog()
    return log
