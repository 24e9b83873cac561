"""How many cases are tried: what a change is judged by every time, or all of them (``make test THOROUGH=1``)."""

from __future__ import annotations

import os

LEAST, SHARE = 10, 0.2


def examples(number: int, least: int = LEAST) -> int:
    """Return how many of *number* cases to try now; of those that cost much, as few as *least*."""
    return number if os.environ.get("THOROUGH") else min(number, max(least, round(number * SHARE)))
