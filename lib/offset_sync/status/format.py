"""Numbers and durations as text for people."""

from __future__ import annotations


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
