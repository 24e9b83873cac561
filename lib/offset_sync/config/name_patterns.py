"""Regular expressions over topic and group names: the part of the syntax that Python and Java read alike.

The same expression decides in Python (``is_match``) and, for topics, inside Spark (``java_any``). What the two would
read differently is refused at start instead of selecting different topics in different places.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from functools import cache

LONGEST = 1000
_TOKEN = re.compile(
    r"""(?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.))
      | (?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
      | (?P<flag>\(\?i\))
      | (?P<open>\((?:\?(?:<?[=!]|[^:)]*[:)]?))?)
      | (?P<close>\))
      | (?P<repeat>(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})[?+]?)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_GROUPS = {"(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?-i:"}
_ESCAPES = re.compile(r"\\(?:[dDwWsSbBtnrf]|x..|u....|[^0-9A-Za-z])", re.DOTALL)
_UNBOUNDED = re.compile(r"[*+]|\{[0-9]+,\}")


def pattern_problem(pattern: str) -> str | None:
    """Return ``what is wrong; remedy``, or None for a pattern that is safe to use."""
    if not pattern:
        return "is empty; write a regular expression, '.*' for all names"
    if len(pattern) > LONGEST:
        return f"is longer than {LONGEST} characters; split it into several entries"
    return _syntax_problem(pattern) or next(_dialect_problems(pattern), None) or _repeat_problem(pattern)


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


def _dialect_problems(pattern: str) -> Iterator[str]:
    for token in _TOKEN.finditer(pattern):
        text, kind = token[0], token.lastgroup
        if kind == "escape" and not _ESCAPES.fullmatch(text):
            yield f"uses {text}, which Python and Java read differently; write it without"
        if kind == "open" and text not in _GROUPS:
            yield f"uses {text}, which Python and Java read differently; use a plain group (…) or (?:…)"
        if kind == "flag" and token.start() > 0:
            yield "has (?i) in the middle, which Python and Java read differently; put it first"
        if kind == "set" and _is_ambiguous_set(text):
            yield f"holds the set {text}, which Python and Java read differently; put \\ before [, ] and &"
        if kind == "other" and text == "{":
            yield "holds a { that is no repetition, an error in Java; write \\{"


def _is_ambiguous_set(text: str) -> bool:
    """Whether Java would read a nested set, an intersection or an unknown escape where Python reads characters."""
    if re.search(r"\\[^dDwWsStnrfxu\W]", text):
        return True
    plain = re.sub(r"\\.", "x", text, flags=re.DOTALL)
    return "[" in plain[1:] or "&&" in plain or plain.startswith(("[]", "[^]"))


def _repeat_problem(pattern: str) -> str | None:
    """Refuse patterns like ``(a+)*``, whose time grows exponentially on a name that nearly matches."""
    open_groups, closed_is_unbounded = [False], False
    for token in _TOKEN.finditer(pattern):
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
