"""How many cases are tried: what a change is judged by every time, or all of them (``make test THOROUGH=1``)."""

from __future__ import annotations

import os

LEAST, SHARE = 20, 0.4


def examples(number: int) -> int:
    """Return how many of *number* cases to try now."""
    return number if os.environ.get("THOROUGH") else min(number, max(LEAST, round(number * SHARE)))
