"""Names of groups and topics as text that shows what it is: anybody may have chosen them."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Control and format characters (also those that turn the direction of writing), private use, line separators."""


def visible(name: str) -> str:
    r"""Return *name* with everything that does not show, or changes what stands beside it, written as ``\u202e``.

    Two names that differ still differ: a backslash is doubled, the empty name becomes ``""``. Markup is left as it is:
    whoever puts the text into HTML or into a terminal's markup escapes for that.
    """
    if name.isascii() and name.isprintable() and "\\" not in name and name:
        return name
    return "".join(_shown(char) for char in name) or '""'


def _shown(char: str) -> str:
    if char == "\\":
        return "\\\\"
    is_hidden = unicodedata.category(char) in _HIDDEN or (char.isspace() and char != " ")
    if not is_hidden:
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
