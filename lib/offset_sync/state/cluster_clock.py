"""Clocks of others against ours: a cluster's, measured while its log of commits is read live, and another driver's.

Brokers' clocks are wrong by minutes and hours. A record that we read at *until*, and that was not in the log at
*since*, was written between the two, whatever its timestamp says. So it bounds how far the cluster's clock is ahead of
ours, and its time by our clock is known to be in that interval::

    our clock        since ─────────────── until
    its timestamp                 t                     t - until <= ahead <= t - since

Records that were in the log before we looked (a backlog) bound it from one side only: they are no younger than the
moment at which they are read.
"""

from __future__ import annotations

import time
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


class ClusterClock:
    """One cluster's clock; all times in ms since the epoch.

    Of what the bounds allow the clock is taken to be what it was before, and to be right at first: the bounds of a log
    to which little is written are as wide as the time between two records.
    """

    def __init__(self) -> None:
        self._kept: int | None = None
        self._low: int | None = None
        self._high: int | None = None
        self._ends_ms = 0

    def keep(self, ahead_ms: int) -> None:
        """Start from what the driver before has measured."""
        self._kept = ahead_ms

    @property
    def ahead_ms(self) -> int | None:
        """How far the cluster's clock is ahead of ours (negative: behind); None where it was never measured."""
        if self._low is None or (self._high is None and self._low <= max(self._kept or 0, 0)):
            return self._kept
        high = FARTHEST_MS if self._high is None else self._high
        allowed = [each for each in (self._kept, 0) if each is not None and self._low <= each <= high]
        return allowed[0] if allowed else self._low if self._low > 0 else high

    @property
    def uncertain_ms(self) -> int:
        """How far times by our clock may be off, of a clock that is wrong; 0 for one that nothing says is wrong.

        Of one that is known by its lower bound alone, as ``--once`` knows it, it is the age of the newest commit that a
        run has read, which nobody knows: 0.
        """
        if self._low is None or self._high is None or self._low <= 0 <= self._high:
            return 0
        return self._high - self._low

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
        low, high = newest_ms - read.until_ms, oldest_ms - read.since_ms if read.since_ms != ABSENT else None
        if high is not None and low > high:
            return  # the records contradict each other: a client has stamped one of them
        if read.until_ms >= self._ends_ms:
            self._kept, self._ends_ms = self.ahead_ms, read.until_ms + WINDOW_MS
            self._low = self._high = None
        self._low = low if self._low is None else max(self._low, low)
        if high is not None:
            self._high = high if self._high is None else min(self._high, high)
        if self._high is not None and self._low > self._high:  # the clock was set: only the new measurement counts
            self._low, self._high = low, high


def system_now_ms() -> int:
    """Return the time of this machine in milliseconds since the epoch."""
    return int(time.time() * 1000)


class ClockOffset:
    """How far ahead of another driver's clock ours may be, from times that it writes down and we read.

    ``indexed_at`` is by the clock of the indexing driver, "now" by that of whoever translates. If ours is ahead, a hole
    seems older than it is, and a record that is still on its way would count as one that the mirror has dropped. A row
    is read after it was written, so the least difference ever seen is never below what the clocks differ by.

    All times in ms since the epoch. Errs to a larger difference.
    """

    def __init__(self) -> None:
        self._least: int | None = None
        self._least_before: int | None = None
        self._window_ends_ms = 0

    def observe(self, written_ms: int, now_ms: int) -> None:
        """Take in that what was written last bears the time *written_ms*."""
        seen = max(0, now_ms - written_ms)
        if self._least is None or now_ms >= self._window_ends_ms:
            self._least_before, self._least, self._window_ends_ms = self._least, seen, now_ms + WINDOW_MS
        self._least = min(self._least, seen)

    def at_most(self) -> int:
        """Return what our clock is ahead by at most; before anything was read there is nothing to be compared.

        What was read at a start may be as old as the index, and the difference as large. So a hole that was there then
        grows old by our own clock, from the start on.
        """
        return min((each for each in (self._least, self._least_before) if each is not None), default=0)
