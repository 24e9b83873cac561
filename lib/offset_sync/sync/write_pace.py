"""The limit of commits per second at a target: how many a pass may send in one turn, and when the next may begin."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pace:
    """At most *per_second* commits (a group's offset of one partition each) at a target; None: as many as there are.

    A turn has at most a second's worth, and the next one waits until as much time has passed as its commits take at the
    limit. Turns of two directions may begin together; the pause after them is then as long as for both. So the limit
    holds over some seconds, not in each one. Threads may share it.
    """

    def __init__(self, per_second: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.turn = per_second
        self._per_second, self._clock = per_second, clock
        self._lock, self._paid_at = threading.Lock(), clock()

    def note(self, commits: int) -> None:
        """Count so many *commits* as sent now."""
        if self._per_second is not None:
            with self._lock:
                self._paid_at = max(self._paid_at, self._clock()) + commits / self._per_second

    def pause_s(self) -> float:
        """Return how many seconds from now the next turn may begin, 0 for at once."""
        with self._lock:
            return max(self._paid_at - self._clock(), 0.0)
