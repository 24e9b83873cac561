"""Whether writes may still be sent: asked of the lease in the driver, and by the time that has passed in a task.

A process may be stopped for any time between two instructions, and somebody else may have taken over meanwhile. So
whoever writes asks twice: once so that the lease is looked at anew, and again for each request, as late as possible.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

TASK_S = 10.0
"""So long a task may write after its start: it cannot look at the lease itself."""


def elapsed_s() -> float:
    """Return seconds that only grow; on Linux the time in which the machine was suspended counts too."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Fence(Protocol):
    """Lets writes through as long as nobody else has taken over."""

    def renew(self) -> None:
        """Make sure that writes may be sent from now on, for a moment.

        Raises TakenOverError where somebody else has taken over, TableError where nobody can tell.
        """

    def is_open(self) -> bool:
        """Return whether a request may be sent at this instant; costs nothing."""


class OpenFence:
    """For whoever cannot be overtaken."""

    def renew(self) -> None:
        """Nothing has to be made sure of."""

    def is_open(self) -> bool:
        """Return True."""
        return True


class TaskFence:
    """Open for *seconds* from when it was made: by the clock of the machine that a task runs on, and no other.

    The driver has looked at the lease before it started the task, and ends the task when the lease is lost.
    """

    def __init__(self, seconds: float = TASK_S, now: Callable[[], float] = elapsed_s) -> None:
        self._now, self._ends_at = now, now() + seconds

    def renew(self) -> None:
        """Nothing can be made sure of here."""

    def is_open(self) -> bool:
        """Return whether there is time left."""
        return self._now() < self._ends_at
