"""Streaming queries and a clock in memory, for the supervisor of queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

WAITING = {"isDataAvailable": False, "isTriggerActive": False, "message": "Waiting for data to arrive"}
"""The status of a query that has nothing to do."""


@dataclass
class Clock:
    """Replaces the module time, and advances only while a caller waits."""

    seconds: float = 100.0
    appointments: list[tuple[float, Callable[[], object]]] = field(default_factory=list)

    def monotonic(self) -> float:
        """Return the time."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass, and happen what is due."""
        self.seconds += seconds
        due = [what for at, what in self.appointments if at <= self.seconds]
        self.appointments = [each for each in self.appointments if each[0] > self.seconds]
        for what in due:
            what()

    def after(self, seconds: float, what: Callable[[], object]) -> None:
        """Let *what* happen in so many seconds."""
        self.appointments.append((self.seconds + seconds, what))


class Stop(threading.Event):
    """The flag that ends a job; waiting for it turns the clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        """Let time pass and return whether the flag is set."""
        self._clock.sleep(timeout or 0.0)
        return self.is_set()


@dataclass
class Query:
    """A streaming query that does what it is told."""

    isActive: bool = True
    name: str = "a query"
    error: str | None = None
    status: dict[str, Any] = field(default_factory=lambda: dict(WAITING))
    lastProgress: dict[str, Any] | None = None

    def exception(self) -> str | None:
        """Return why it ended."""
        return self.error

    def end(self, error: str | None = None) -> None:
        """End, with *error* or without."""
        self.isActive, self.error = False, error

    def stop(self) -> None:
        """End as it is asked to."""
        self.end()


@dataclass
class Starts:
    """What a query's start does, one entry each time; it remembers when that was."""

    clock: Clock
    results: Iterator[Query | Exception | None]
    times: list[float] = field(default_factory=list)

    def start(self) -> Any:
        """Start it once more."""
        self.times.append(self.clock.seconds)
        result = next(self.results)
        if isinstance(result, Exception):
            raise result
        return result

    def gaps(self) -> list[float]:
        """Return the pauses between the starts."""
        return [round(later - earlier) for earlier, later in pairwise(self.times)]
