"""How far ahead of another machine's clock ours may be, from times that it writes down and we read.

``indexed_at`` is by the clock of the indexing driver, "now" by that of whoever translates. If ours is ahead, a hole
seems older than it is, and a record that is still on its way would count as one that the mirror has dropped. A row is
read after it was written, so the least difference ever seen is never below what the clocks differ by.
"""

from __future__ import annotations

import time

WINDOW_MS = 600_000
"""So long an observation counts, for the driver may have moved to another machine since."""


def system_now_ms() -> int:
    """Return the time of this machine in milliseconds since the epoch."""
    return int(time.time() * 1000)


class ClockOffset:
    """Observations of one writer's clock; all times in ms since the epoch. Errs to a larger difference."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._least: int | None = None
        self._least_before: int | None = None
        self._window_ends_ms = 0

    def observe(self, written_ms: int, now_ms: int) -> None:
        """Take in that what was written last bears the time *written_ms*."""
        seen = max(0, now_ms - written_ms)
        if self._first is None:
            # Read at a start, it may be as old as the index: it bounds the difference, but not well.
            self._first, self._window_ends_ms = seen, now_ms + WINDOW_MS
            return
        if now_ms >= self._window_ends_ms:
            self._least_before, self._least, self._window_ends_ms = self._least, None, now_ms + WINDOW_MS
        self._least = seen if self._least is None else min(self._least, seen)

    def at_most(self, limit_ms: int) -> int:
        """Return what our clock is ahead by at most; *limit_ms* is taken for true where nothing better is known."""
        seen = [each for each in (self._least, self._least_before) if each is not None]
        if seen:
            return min(seen)
        return limit_ms if self._first is None else min(self._first, limit_ms)
