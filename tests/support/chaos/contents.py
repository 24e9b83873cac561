"""The contents of the logs of every cluster, by the ids in the records' values and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Partition = tuple[str, int]
NEVER = np.iinfo(np.int64).max


@dataclass
class Log:
    """One partition at one cluster, as far as it was read: ids and offsets, and that end."""

    offsets: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)
    read_to: int = 0

    def add(self, offset: int, identity: int) -> None:
        """Add the next record."""
        self.offsets.append(offset)
        self.ids.append(identity)
        self.first.setdefault(identity, offset)
        self.read_to = offset + 1


class Reading:
    """How far a group that has read *source* up to some offset has read the log of *target*."""

    def __init__(self, source: Log, target: Log) -> None:
        self._offsets = np.array(target.offsets, np.int64)
        # A record that is not at the source has offset infinity there: no group can have read it there.
        places = np.array([source.first.get(identity, NEVER) for identity in target.ids], np.int64)
        self._read_to = target.read_to
        self._needed = np.maximum.accumulate(places) if len(places) else places

    def exact(self, committed_offsets: Sequence[int]) -> Ints:
        """Return, for each commit at the source, the offset of the target's first unread record; its end without one.

        A record is read if its id is below the commit. The same id twice is one record.
        """
        index = np.searchsorted(self._needed, np.array(committed_offsets, np.int64), "left")
        return np.append(self._offsets, self._read_to)[index]


class Contents:
    """The logs of all clusters, by cluster and partition."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, Partition], Log] = {}

    def log(self, alias: str, place: Partition) -> Log:
        """Return one of them."""
        return self._logs.setdefault((alias, place), Log())

    def reading(self, source: str, target: str, place: Partition) -> Reading:
        """Return how far one cluster's log is read by who reads at another; of what is known now."""
        return Reading(self.log(source, place), self.log(target, place))

    def lacking(self, alias: str, place: Partition, other: str) -> int:
        """Return how many records *other* has that the log at *alias* has not got."""
        return len(self.log(other, place).first.keys() - self.log(alias, place).first.keys())
