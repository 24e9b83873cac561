"""A clock that is set by hand, for code that takes a function returning seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class HandClock:
    """Returns *seconds*, which a test changes."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds
