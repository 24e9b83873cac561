"""Clock offsets: of a cluster, measured while its commit log is read live, and of another driver.

Brokers' clocks are wrong by minutes and hours. A record that we read at *until*, and that was not in the log at
*since*, was written between the two, whatever its timestamp says. So it bounds how far the cluster's clock is ahead of
ours, and its time by our clock is known to be in that interval::

    our clock        since ─────────────── until
    its timestamp                 t                     t - until <= ahead <= t - since

A backlog, records that were in the log already, bounds it from one side only: they were written before they are read.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import NamedTuple

import numpy as np

from offset_sync.model.values import ABSENT
from offset_sync.translate.index.runs import Int64s

WINDOW_MS = 600_000
"""Lifetime of a measurement: clocks drift, and are set."""
WRONG_MS = 5_000
"""A clock that is off by more is wrong: ``sync_offsets`` says so each minute, and dates moves again."""
FARTHEST_MS = 10 * 365 * 86_400_000
"""Timestamps further off are ignored: no broker stamps such a commit, so a client wrote it into the log."""


class Read(NamedTuple):
    """Records were read at *until_ms*; at *since_ms* they were not in the log yet (ABSENT: unknown)."""

    until_ms: int
    since_ms: int = ABSENT


class ClusterClock:
    """One cluster's clock; all times in ms since the epoch.

    Within the bounds the previous estimate is kept, at first 0: in a log with few writes the bounds are as wide as the
    time between two records.
    """

    def __init__(self) -> None:
        self._kept: int | None = None
        self._low: int | None = None
        self._high: int | None = None
        self._ends_ms = 0

    def keep(self, ahead_ms: int) -> None:
        """Start from the previous driver's measurement."""
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
        """How far times converted to our clock may be off, for a clock measured to be wrong; otherwise 0.

        Also 0 with a lower bound alone, as in ``--once``: the uncertainty is then the unknown age of the newest commit.
        """
        if self._low is None or self._high is None or self._low <= 0 <= self._high:
            return 0
        return self._high - self._low

    @property
    def undated_ms(self) -> int:
        """How much earlier records may have been made than :meth:`made_ms` says.

        Any time, where all that is known is that the clock is at least so far ahead as the newest record shows.
        """
        is_open = self._high is None and self._low is not None and self._low > 0
        return FARTHEST_MS if is_open and self.ahead_ms == self._low else self.uncertain_ms

    def made_ms(self, timestamp_ms: Int64s, read: Read | None) -> Int64s:
        """Return when records were written, by our clock; shapes (records,). Without *read* nothing is measured.

        Never later than they were read. Errs by the time between two reads of the log, and for a backlog by the clock
        offset that is not measured.
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

    ``indexed_at`` is by the clock of the indexing driver, "now" by that of the translating one. If ours is ahead, a
    hole seems older than it is, and a record in flight would count as dropped by the mirror. A row is read after it was
    written, so the least difference ever seen is never below the clock difference.

    All times in ms since the epoch. Errs to a larger difference.
    """

    def __init__(self) -> None:
        self._least: int | None = None
        self._least_before: int | None = None
        self._window_ends_ms = 0

    def observe(self, written_ms: int, now_ms: int) -> None:
        """Take in the time *written_ms* of the newest row."""
        seen = max(0, now_ms - written_ms)
        if self._least is None or now_ms >= self._window_ends_ms:
            self._least_before, self._least, self._window_ends_ms = self._least, seen, now_ms + WINDOW_MS
        self._least = min(self._least, seen)

    def at_most(self) -> int:
        """Return the most that our clock can be ahead; 0 before anything was read.

        Rows read at a start may be as old as the index, and the difference as large. So a hole that was there then ages
        by our own clock, from the start on.
        """
        return min((each for each in (self._least, self._least_before) if each is not None), default=0)


def to_datetime(milliseconds: int) -> datetime:
    """Return a time in ms since the epoch as a datetime, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def epoch_ms(at: datetime) -> int:
    """Return a time in milliseconds since the epoch."""
    return round(at.timestamp() * 1000)
