"""What one check has found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """*place* is a cluster's path or a key of the configuration; *text* says what was found, and the remedy.

    *topics* are all those that it is about, where it is about topics; the text may name the first ones only.
    """

    level: Level
    place: str
    check: str
    text: str
    topics: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        found = {"level": self.level.value, "place": self.place, "check": self.check, "text": self.text}
        return {**found, "topics": list(self.topics)} if self.topics else found


@dataclass(frozen=True)
class Lines:
    """Makes the findings of one check at one place."""

    place: str
    check: str

    def of(self, level: Level, text: str, topics: Iterable[str] = ()) -> Finding:
        """Return what *text* says; the *topics* that it is about are named in front of it."""
        named = tuple(sorted(topics))
        return Finding(level, self.place, self.check, f"{some(named)}: {text}" if named else text, named)


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of each place together, and there those of each check, in the order in which these come."""
    places = list(dict.fromkeys(each.place for each in findings))
    checks = list(dict.fromkeys(each.check for each in findings))
    return sorted(findings, key=lambda each: (places.index(each.place), checks.index(each.check)))


def some(names: Iterable[str], most: int = 3) -> str:
    """Return the first of *names*, and how many more there are."""
    listed = sorted(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
