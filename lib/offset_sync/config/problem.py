"""A problem of the configuration: where it is, what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

KeyPath = tuple[str | int, ...]  # keys and list indices, from the root of the file
PROBLEM = "problem"  # the pydantic error type whose message is already complete


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong at *path*; *text* reads ``what is wrong; remedy`` and never quotes a secret."""

    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.text}"


def path_text(path: KeyPath) -> str:
    """Return ``topics.overrides[0].strategy`` for ``("topics", "overrides", 0, "strategy")``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def refused(text: str) -> PydanticCustomError:
    """Return the error for a validator to raise; *text* is shown as it is, braces included."""
    return PydanticCustomError(PROBLEM, "{text}", {"text": text})


def first_per_path(stages: Iterable[Iterable[Problem]]) -> list[str]:
    """Return the lines to show; a path that an earlier stage complained about is not mentioned again.

    Otherwise a variable that is not set would be followed by "not a duration" and other consequences.
    """
    lines: dict[str, None] = {}
    complained: set[KeyPath] = set()
    for stage in stages:
        fresh = [problem for problem in stage if problem.path not in complained]
        complained.update(problem.path for problem in fresh)
        lines.update(dict.fromkeys(map(str, fresh)))
    return list(lines)
