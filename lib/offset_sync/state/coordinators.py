"""Which partition of ``__consumer_offsets`` a group's coordinator leads, as Kafka's ``partitionFor`` has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import Int64s


def coordinator_hashes(groups: Sequence[str]) -> Int64s:
    """Return what the partitions of *groups* are found by, modulo their number; shape (groups,).

    Java's ``String.hashCode`` over UTF-16 units, without its sign; of the least number, which has no positive
    counterpart, 0 (``Utils.abs``).

    >>> coordinator_hashes(["", "a", "billing"]).tolist()
    [0, 97, 109829509]
    """
    raw = [group.encode("utf-16-le", "surrogatepass") for group in groups]
    length = np.array([len(each) // 2 for each in raw], np.int64)
    units: NDArray[np.uint16] = np.frombuffer(b"".join(raw), "<u2")
    first = np.cumsum(length) - length
    code = np.zeros(len(groups), np.uint32)
    for number in range(int(length.max(initial=0))):
        rows = np.flatnonzero(length > number)
        code[rows] = code[rows] * np.uint32(31) + units[first[rows] + number]
    signed = code.view(np.int32).astype(np.int64)
    return np.where(signed == -(1 << 31), 0, np.abs(signed))


def coordinator_partition(group_id: str, partitions: int) -> int:
    """Return the partition of a group where ``__consumer_offsets`` has so many *partitions*, at least one."""
    return int(coordinator_hashes([group_id])[0]) % partitions
