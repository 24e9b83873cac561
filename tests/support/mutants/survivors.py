"""The file of changes that no test notices: a line of file and function, the changes in it, and why they may be.

::

    translate/exact.py first_unread
        required.searchsorted(committed, «"left"») -> «None»
        because: it is the default
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

_REASON = "because:"


class Change(NamedTuple):
    """One change, or several that read the same; *file* is below lib/offset_sync."""

    file: str
    function: str
    change: str


def read_survivors(text: str) -> dict[Change, str]:
    """Return the reason of each change; a line ``because:`` counts for the changes above it. Raises ValueError."""
    found: dict[Change, str] = {}
    waiting: list[Change] = []
    file = function = ""
    for line in text.splitlines():
        word = line.strip()
        if word and not line.startswith((" ", "#")):
            _refuse(waiting)
            file, function = word.split(" ")
        elif word.startswith(_REASON):
            found |= dict.fromkeys(waiting, word.removeprefix(_REASON).strip())
            waiting = []
        elif word and not word.startswith("#"):
            waiting.append(Change(file, function, word))
    _refuse([*waiting, *(each for each, reason in found.items() if not reason)])
    return found


def _refuse(changes: Iterable[Change]) -> None:
    if without := block(sorted(changes)):
        raise ValueError(f"without a reason:\n{without}")


def block(changes: Iterable[Change]) -> str:
    """Return *changes* as they are written in the file, without reasons."""
    lines = []
    for (file, function), some in groupby(changes, key=lambda each: each[:2]):
        lines += [f"{file} {function}", *(f"    {each.change}" for each in some)]
    return "\n".join(lines)
