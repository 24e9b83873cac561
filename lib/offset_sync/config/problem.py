"""A problem of the configuration: where it is, what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

Place = tuple[str | int, ...]  # keys and list indices, from the root of the file
PROBLEM = "problem"  # the pydantic error type whose message is already complete


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong at *place*; *text* reads ``what is wrong; remedy`` and never quotes a secret."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{place_text(self.place)}: {self.text}"


def place_text(place: Place) -> str:
    """Return ``topics.overrides[0].strategy`` for ``("topics", "overrides", 0, "strategy")``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def refused(text: str) -> PydanticCustomError:
    """Return the error a validator raises: *text* is shown as it stands, braces and all."""
    return PydanticCustomError(PROBLEM, "{text}", {"text": text})


def first_per_place(stages: Iterable[Iterable[Problem]]) -> list[str]:
    """Return the lines to show: a place that an earlier stage complained about is not complained about again.

    A variable that is not set would otherwise be followed by "not a duration" and other echoes of itself.
    """
    lines: dict[str, None] = {}
    complained: set[Place] = set()
    for stage in stages:
        fresh = [problem for problem in stage if problem.place not in complained]
        complained.update(problem.place for problem in fresh)
        lines.update(dict.fromkeys(map(str, fresh)))
    return list(lines)
