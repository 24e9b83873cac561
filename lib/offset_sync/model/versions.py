"""Whether a library is one that the program was built with. The rule for all of them:

- the very version that it was built with: fine;
- another patch of the same major and minor version, or one that does not say which it is: fine as long as everything
  that is called is there; said once in the log;
- another major or minor version: refused. What is called may be there and mean something else.
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
    """Return how *found* compares; "" stands for a version that nobody can tell.

    >>> match_version("4.4.0", "4.4.1"), match_version("4.4.0", "4.3.9")
    (<Match.SIMILAR: 'similar'>, <Match.OTHER: 'other'>)
    """
    if found == built_with:
        return Match.SAME
    return Match.SIMILAR if not found or _major_minor(found) == _major_minor(built_with) else Match.OTHER


def _major_minor(version: str) -> tuple[str, ...] | None:
    found = _MAJOR_MINOR.match(version)
    return found.groups() if found else None
