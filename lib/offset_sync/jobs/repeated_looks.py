"""Looks again and again at what may have changed, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)


def look_until(stop: threading.Event, pause_s: float, look: Callable[[], None]) -> None:
    """Call *look* now and every *pause_s* seconds until *stop* is set; what it raises is logged."""
    while not stop.is_set():
        try:
            look()
        except Exception:  # the next look finds the same
            if not stop.is_set():  # else it falls with the rest
                logger.exception("a look at the clusters failed; it is made again")
        stop.wait(pause_s)
