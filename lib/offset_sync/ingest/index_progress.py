"""How far the index has come, beside where the logs ended when the job started."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from offset_sync.ingest.checkpoint import Offsets
from offset_sync.model.values import ClusterPartition, TopicPartition

_RATE_OVER_S = 30.0
"""The rate is that of so many seconds: long enough for a few micro-batches, short enough to follow what happens."""


@dataclass(frozen=True)
class Backfill:
    """Where the index is: *done* of *total* offsets that were there at the start, and what that makes.

    *records* counts those of this run, *records_per_s* those of the last half minute; *seconds_left* is None while
    nothing has been read by which it could be told.
    """

    records: int
    records_per_s: float
    done: int
    total: int
    seconds_left: float | None

    @property
    def share(self) -> float:
        """Return the share that is done, from 0 to 1; 1 where there was nothing."""
        return self.done / self.total if self.total else 1.0


class IndexProgress:
    """Is told what micro-batches have read; threads may share it. *clock* gives monotonic seconds.

    Offsets without a record (markers, compacted ones) count as done when they are passed, and not as records.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._began_at = clock()
        self._first: dict[ClusterPartition, int] = {}
        self._goal: dict[ClusterPartition, int] = {}
        self._reached: dict[ClusterPartition, int] = {}
        self._counts: list[tuple[float, int, int]] = [(self._began_at, 0, 0)]

    def expect(self, alias: str, ends: Mapping[TopicPartition, int]) -> None:
        """Note where the logs of a cluster end now; only the first ends of a partition count."""
        with self._lock:
            for partition, end in ends.items():
                self._goal.setdefault(ClusterPartition(alias, *partition), end)

    def advance(self, alias: str, start: Offsets, end: Offsets, records: int) -> None:
        """Note that a micro-batch of *records* is in the tables: from *start* on, up to *end*."""
        with self._lock:
            for partition, offset in end.items():
                key = ClusterPartition(alias, *partition)
                self._first.setdefault(key, start.get(partition, 0))
                self._reached[key] = max(offset, self._reached.get(key, 0))
            now, (done, _) = self._clock(), self._offsets()
            self._counts.append((now, self._counts[-1][1] + records, done))
            # One entry older than the window stays, to measure from.
            while len(self._counts) > 2 and self._counts[1][0] < now - _RATE_OVER_S:
                del self._counts[0]

    def backfill(self) -> Backfill:
        """Return where the index is now."""
        with self._lock:
            (since, before, done_before), (_, records, _) = self._counts[0], self._counts[-1]
            seconds = max(self._clock() - since, 1e-9)
            done, total = self._offsets()
            offsets_per_s = (done - done_before) / seconds
            left = (total - done) / offsets_per_s if offsets_per_s > 0 else None
            return Backfill(records, (records - before) / seconds, done, total, 0.0 if done >= total else left)

    @property
    def seconds(self) -> float:
        """Return for how long the job has been at it."""
        return self._clock() - self._began_at

    def _offsets(self) -> tuple[int, int]:
        """Return how many offsets are done and how many there were, of the partitions whose end is known."""
        done = total = 0
        for key, goal in self._goal.items():
            first = self._first.get(key, 0)
            total += max(goal - first, 0)
            done += min(max(self._reached.get(key, first) - first, 0), max(goal - first, 0))
        return done, total
