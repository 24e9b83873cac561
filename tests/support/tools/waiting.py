"""Waiting for what another thread does."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(is_so: Callable[[], object]) -> None:
    """Wait until *is_so*, for at most half a minute."""
    ends_at = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.01)
