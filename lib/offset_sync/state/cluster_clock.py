"""The clock of a cluster against ours, measured while its log of commits is read live.

Brokers' clocks are wrong by minutes and hours. A record that we read at *until*, and that was not in the log at
*since*, was written between the two, whatever its timestamp says. So it bounds how far the cluster's clock is ahead of
ours, and its time by our clock is known to be in that interval::

    our clock        since ─────────────── until
    its timestamp                 t                     t - until <= ahead <= t - since

Records that were in the log before we looked (a backlog) bound it from one side only: they are no younger than the
moment at which they are read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from offset_sync.model.values import ABSENT
from offset_sync.translate.index.runs import Int64s

WINDOW_MS = 600_000
"""So long a measurement counts: clocks drift, and are set."""
WRONG_MS = 5_000
"""A clock that is off by more is shown: as a metric, by ``check``, in the report."""
FARTHEST_MS = 10 * 365 * 86_400_000
"""What is further off tells nothing of a clock: brokers stamp commits themselves, so somebody has written it there."""


class Read(NamedTuple):
    """Records were read at *until_ms*; at *since_ms* they were not in the log yet (ABSENT: they may have been)."""

    until_ms: int
    since_ms: int = ABSENT


class _Bounds:
    """Limits of how far the cluster's clock is ahead, of one window of time."""

    def __init__(self, ends_ms: int) -> None:
        self.ends_ms = ends_ms
        self.low: int | None = None
        self.high: int | None = None

    def narrow(self, low: int, high: int | None) -> None:
        """Take in a measurement; where it contradicts the others the clock was set, and only the new one counts."""
        self.low = low if self.low is None else max(self.low, low)
        if high is not None:
            self.high = high if self.high is None else min(self.high, high)
        if self.high is not None and self.low > self.high:
            self.low, self.high = low, high


class ClusterClock:
    """One cluster's clock; all times in ms since the epoch."""

    def __init__(self) -> None:
        self._now: _Bounds | None = None
        self._before: _Bounds | None = None
        self._kept: int | None = None

    def keep(self, ahead_ms: int) -> None:
        """Start from what the driver before has measured."""
        self._kept = ahead_ms

    @property
    def ahead_ms(self) -> int | None:
        """How far the cluster's clock is ahead of ours (negative: behind); None where it was never measured."""
        for each in (self._now, self._before):
            if each is not None and each.low is not None and each.high is not None:
                return (each.low + each.high) // 2
        if self._now is not None and self._now.low is not None and self._now.low > max(self._kept or 0, 0):
            return self._now.low  # by so much at least: what was read bears a time that is still to come
        return self._kept

    def made_ms(self, timestamp_ms: Int64s, read: Read | None) -> Int64s:
        """Return when records were written, by our clock; shapes (records,). Without *read* nothing is measured.

        Never later than they were read. Errs by the time between two looks at the log, and for a backlog by what the
        clock is off without our knowing.
        """
        if len(timestamp_ms) == 0:
            return timestamp_ms
        if read is not None:
            likely = timestamp_ms[np.abs(timestamp_ms - read.until_ms) <= FARTHEST_MS]
            if len(likely):
                self._observe(int(likely.min()), int(likely.max()), read)
        made: Int64s = timestamp_ms - (self.ahead_ms or 0)
        if read is None:
            return made
        if read.since_ms != ABSENT:
            made = np.maximum(made, read.since_ms)
        return np.minimum(made, read.until_ms)

    def _observe(self, oldest_ms: int, newest_ms: int, read: Read) -> None:
        if self._now is None or read.until_ms >= self._now.ends_ms:
            self._before, self._now = self._now, _Bounds(read.until_ms + WINDOW_MS)
        low, high = newest_ms - read.until_ms, oldest_ms - read.since_ms if read.since_ms != ABSENT else None
        if high is None or low <= high:  # else the records contradict each other: a client has stamped one of them
            self._now.narrow(low, high)
