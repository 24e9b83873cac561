"""Untrusted text, made safe to show on a terminal or in a log."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Control and format characters (also those that turn the direction of writing), private use, line separators."""


def escaped(text: str) -> str:
    r"""Return *text* on one line, with invisible and direction-changing characters escaped as ``\u202e``.

    >>> escaped("group \x1b[31m\nred")
    'group \\u001b[31m\\u000ared'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def visible(name: str) -> str:
    r"""Return *name* :func:`escaped` so that two names that differ still differ.

    A backslash is doubled, the empty name becomes ``""``. Markup is left as it is: for HTML and for a terminal's markup
    the caller escapes it.
    """
    return escaped(name.replace("\\", "\\\\")) or '""'


def one_line(problem: BaseException) -> str:
    r"""Return what an exception says, on one line: what has failed, and why.

    delta-rs puts each cause on a line below its consequence, in colours; the last line is the root cause.

    >>> one_line(OSError("Generic S3 error\n  \x1b[31m↳\x1b[0m Error performing PUT\n   \x1b[31m↳\x1b[0m refused"))
    'Generic S3 error: refused'
    """
    lines = [re.sub(r"^(\x1b\[\d+m|[↳\s])+", "", line).strip() for line in str(problem).splitlines()]
    said = [line for line in lines if line]
    return escaped(": ".join(dict.fromkeys([*said[:1], *said[-1:]])) or type(problem).__name__)


def _shown(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN and (char == " " or not char.isspace()):
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def to_count(number: int | None) -> str:
    """Return *number* in at most 9 characters below 10^15: whole below a million, then with three digits."""
    if number is None:
        return "?"
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if abs(number) >= size:
            return f"{number / size:,.2f}{unit}"
    return f"{number:,}"


def to_range(least: int | None, most: int | None) -> str:
    """Return ``12``, or ``12 to 30`` where only bounds are known."""
    bounds = dict.fromkeys([to_count(least), to_count(least if most is None else most)])
    return " to ".join(bounds)


def to_duration(ms: float) -> str:
    """Return *ms* for people, rounded to one or two units: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 d 4 h``."""
    if ms < 9_950:
        return f"{ms / 1000:.1f} s" if ms % 1000 else f"{ms // 1000:.0f} s"
    seconds = round(ms / 1000)
    for size, word, smaller, small_word in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {word}" + (f" {rest} {small_word}" if rest else "")
    return f"{seconds} s"
