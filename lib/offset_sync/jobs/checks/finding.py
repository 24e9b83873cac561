"""What one check has found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Level(Enum):
    """OK: as it should be; SKIP: could not be told, and need not; WARN: works, and is not as it should be; FAIL."""

    OK = "OK"
    SKIP = "SKIP"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    """*place* is a cluster's path or a key of the configuration; *text* says what was found, and the remedy."""

    level: Level
    place: str
    check: str
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"level": self.level.value, "place": self.place, "check": self.check, "text": self.text}


def some(names: Iterable[str], most: int = 3) -> str:
    """Return the first of *names*, and how many more there are."""
    listed = sorted(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
