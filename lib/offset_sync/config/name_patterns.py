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

LONGEST = 1000
# Only syntax with the same meaning in both. In a set, Java reads [ as a nested set and && as an intersection.
_TOKEN = r"""\A\(\?i\)
      | (?P<open>\((?!\?)|\(\?(?:[:=!]|<[=!]|-?i:))
      | (?P<close>\))
      | (?P<repeat>(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})[?+]?)
      | \\(?:[dDwWsSbBtnrf]|x..|u....|[^0-9A-Za-z])
      | \[(?!\^\])\^?(?:[^\[\]\\&]|&(?!&)|\\(?:[dDwWsStnrfxu]|\W))+\]
      | [^\\()\[{*+?]"""
_TOKENS = re.compile(_TOKEN, re.VERBOSE | re.DOTALL)
_DIALECT = re.compile(f"(?:{_TOKEN})*", re.VERBOSE | re.DOTALL)
_UNBOUNDED = re.compile(r"[*+]|\{[0-9]+,\}")


def pattern_problem(pattern: str) -> str | None:
    """Return ``what is wrong; remedy``, or None for a pattern that is safe to use."""
    if not pattern:
        return "is empty; write a regular expression, '.*' for all names"
    if len(pattern) > LONGEST:
        return f"is longer than {LONGEST} characters; split it into several entries"
    return _syntax_problem(pattern) or _dialect_problem(pattern) or _repeat_problem(pattern)


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


def _syntax_problem(pattern: str) -> str | None:
    try:
        _compiled(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a valid regular expression ({error}); correct it"
    return None


def _dialect_problem(pattern: str) -> str | None:
    rest = _DIALECT.sub("", pattern, count=1)
    if not rest:
        return None
    return f"uses {rest[:8]!r}, which Python and Java read differently; write it without, or with \\ before a character"


def _repeat_problem(pattern: str) -> str | None:
    """Refuse patterns like ``(a+)*``, whose time grows exponentially on a name that nearly matches."""
    open_groups, closed_is_unbounded = [False], False
    for token in _TOKENS.finditer(pattern):
        kind, was_unbounded, closed_is_unbounded = token.lastgroup, closed_is_unbounded, False
        if kind == "open":
            open_groups.append(False)
        elif kind == "close":
            closed_is_unbounded = open_groups.pop()
            open_groups[-1] |= closed_is_unbounded
        elif kind == "repeat" and _UNBOUNDED.match(token[0]):
            if was_unbounded:
                return "repeats a group that repeats inside, which may never end; remove one of the two repetitions"
            open_groups[-1] = True
    return None
