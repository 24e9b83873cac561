"""What one check has found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Level(Enum):
    """OK; SKIP: not checked, and not required; WARN: works, but should be fixed; FAIL."""

    OK = "OK"
    SKIP = "SKIP"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    """*place* is a cluster's path or a key of the configuration; *text* says what was found, and the remedy.

    *topics* are all topics concerned, if any; the text may name only the first ones.
    """

    level: Level
    place: str
    check: str
    text: str
    topics: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**vars(self), "level": self.level.value}


def about(place: str, check: str, level: Level, text: str, topics: Iterable[str] = ()) -> Finding:
    """Return a finding with *text*, prefixed with the first of the *topics* concerned."""
    named = tuple(sorted(topics))
    return Finding(level, place, check, f"{some(named)}: {text}" if named else text, named)


def some(names: Iterable[str], most: int = 3) -> str:
    """Return the first *most* of *names*, sorted, and how many more there are."""
    listed = sorted(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
