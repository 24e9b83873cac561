"""A steady rate, turned into whole records."""

from __future__ import annotations

import time


class Pace:
    """Computes how many records are due; the rate may change from call to call."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._owed = 0.0

    def due(self, rate: float) -> int:
        """Return how many records of *rate* a second are due since the last call; the caller sends them now.

        After a stall at most the records of one second are due: a burst would hide the effects of a slow rate.
        """
        now = time.monotonic()
        self._owed = min(self._owed + rate * (now - self._last), max(rate, 1.0))
        self._last = now
        count = int(self._owed)
        self._owed -= count
        return count
