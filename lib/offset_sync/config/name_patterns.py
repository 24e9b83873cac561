"""Regular expressions over topic and group names: the part of the syntax with the same meaning in Python and Java.

The same expression is used in Python (``is_match``) and, for topics, inside Spark (``java_any``): its source lists the
topics again for every micro-batch, so a new one is read at once, and a deleted one ends no query, as it would with a
list of names. Syntax with different meanings is refused at start, as it would select different topics.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import cache

# Only syntax with the same meaning in both. In a set, Java reads [ as a nested set and && as an intersection.
_DIALECT = re.compile(
    r"""(?: \A\(\?i\)
      | \((?!\?)|\(\?(?:[:=!]|<[=!]|-?i:)
      | \)
      | (?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})[?+]?
      | \\(?:[dDwWsSbBtnrf]|x..|u....|[^0-9A-Za-z])
      | \[(?!\^\])\^?(?:[^\[\]\\&]|&(?!&)|\\(?:[dDwWsStnrfxu]|\W))+\]
      | [^\\()\[{*+?])*""",
    re.VERBOSE | re.DOTALL,
)


def pattern_problem(pattern: str) -> str | None:
    """Return ``what is wrong; remedy``, or None for a pattern that is safe to use."""
    if not pattern:
        return "is empty; write a regular expression, '.*' for all names"
    try:
        _compiled(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a valid regular expression ({error}); correct it"
    if not (rest := _DIALECT.sub("", pattern, count=1)):
        return None
    return f"uses {rest[:8]!r}, which Python and Java read differently; write it without, or with \\ before a character"


def is_match(patterns: Sequence[str], name: str) -> bool:
    """Whether one of *patterns* matches the whole of *name*."""
    return any(_compiled(pattern).fullmatch(name) for pattern in patterns)


def java_any(patterns: Sequence[str]) -> str:
    """Return one Java expression for "any of *patterns*"; an inline flag stays inside its own pattern."""
    return "(?:" + "|".join(f"(?:{pattern})" for pattern in patterns) + ")"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # ASCII: \d and \w as in Java. DOTALL: a group name may hold a line break, and '.*' has to mean all of them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern, re.ASCII | re.DOTALL)
