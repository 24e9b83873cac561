"""Streaming queries in memory, for the supervisor of queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

WAITING = {"isDataAvailable": False, "isTriggerActive": False, "message": "Waiting for data to arrive"}
"""The status of a query that has nothing to do."""


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
