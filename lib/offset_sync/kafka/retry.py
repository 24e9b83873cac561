"""Tries again until a deadline, with pauses that grow; the clock is an argument."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


@dataclass(frozen=True)
class Clock:
    """Monotonic seconds and a way to let them pass."""

    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep


SYSTEM_CLOCK = Clock()


def attempts(ends_at: float, clock: Clock = SYSTEM_CLOCK) -> Iterator[float]:
    """Yield the seconds left at each attempt: at least once, then again after each pause until *ends_at*.

    The caller repeats only what failed, and leaves the loop when nothing is left. No repetition starts at or after
    *ends_at*.
    """
    pause_s = _FIRST_PAUSE_S
    yield ends_at - clock.now()
    while clock.now() + pause_s < ends_at:
        clock.pause(pause_s)
        yield ends_at - clock.now()
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
