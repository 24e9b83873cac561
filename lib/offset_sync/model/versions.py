"""Checks a library's version against the one that the program was built with. The rule:

- the same version: accepted;
- another patch of the same major and minor version, or an unknown version: accepted if everything
  that we call exists; logged once;
- another major or minor version: refused, unless it was tried. The same call may mean something else.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

_MAJOR_MINOR = re.compile(r"(\d+)\.(\d+)(?!\d)")


class Match(Enum):
    """How a version that was found compares with the one that the program was built with."""

    SAME = "same"
    SIMILAR = "similar"
    OTHER = "other"


def match_version(built_with: str, found: str, tried: Collection[str] = ()) -> Match:
    """Return how *found* compares; "" is an unknown version, *tried* are other minor versions that will do.

    >>> match_version("4.4.0", "4.4.1"), match_version("4.4.0", "4.3.9"), match_version("4.4.0", "4.3.9", ["4.3"])
    (<Match.SIMILAR: 'similar'>, <Match.OTHER: 'other'>, <Match.SIMILAR: 'similar'>)
    """
    if found == built_with:
        return Match.SAME
    return Match.SIMILAR if not found or minor_of(found) in {minor_of(built_with), *tried} else Match.OTHER


def minor_of(version: str) -> str | None:
    """Return major and minor version, such as ``4.1``; None if there are none."""
    found = _MAJOR_MINOR.match(version)
    return found[0] if found else None
