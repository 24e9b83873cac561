"""Checks a library's version against the one that the program was built with. The rule:

- the same version: accepted;
- another patch of the same major and minor version, or an unknown version: accepted if everything
  that we call exists; logged once;
- another major or minor version: refused. The same call may mean something else.
"""

from __future__ import annotations

import re
from enum import Enum

_MAJOR_MINOR = re.compile(r"(\d+)\.(\d+)(?!\d)")


class Match(Enum):
    """How a version that was found compares with the one that the program was built with."""

    SAME = "same"
    SIMILAR = "similar"
    OTHER = "other"


def match_version(built_with: str, found: str) -> Match:
    """Return how *found* compares; "" is an unknown version.

    >>> match_version("4.4.0", "4.4.1"), match_version("4.4.0", "4.3.9")
    (<Match.SIMILAR: 'similar'>, <Match.OTHER: 'other'>)
    """
    if found == built_with:
        return Match.SAME
    return Match.SIMILAR if not found or _major_minor(found) == _major_minor(built_with) else Match.OTHER


def _major_minor(version: str) -> tuple[str, ...] | None:
    found = _MAJOR_MINOR.match(version)
    return found.groups() if found else None
