"""What a command waits for: after two seconds a line in the log, which says for how long it has waited.

And, where that is known, for how long at most::

    waiting for clusters dc1, dc2: 7 s of at most 20 s
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from offset_sync.model.text import to_duration, visible

logger = logging.getLogger(__name__)
SOON_S = 2.0
LINE_EVERY_S = 10.0


@dataclass
class Wait:
    """A wait for *what*, which may be told anew while it lasts."""

    what: str


@contextmanager
def waiting(what: str, at_most_s: float | None = None) -> Iterator[Wait]:
    """Log a wait, for *at_most_s* seconds if that is known, while the block runs, once it lasts for two seconds."""
    wait, ended, began = Wait(what), threading.Event(), time.monotonic()
    at_most = "" if at_most_s is None else f" of at most {to_duration(at_most_s * 1000)}"

    def tell() -> None:
        pause_s = SOON_S
        while not ended.wait(pause_s):
            lasted = to_duration(round(time.monotonic() - began) * 1000)
            logger.info("waiting for %s: %s%s", visible(wait.what), lasted, at_most)
            pause_s = LINE_EVERY_S

    thread = threading.Thread(target=tell, name="waiting", daemon=True)
    thread.start()
    try:
        yield wait
    finally:
        ended.set()
        thread.join()
