"""Tells people what a command waits for: after two seconds, by one line on a terminal, elsewhere in the log.

The line says for how long it has waited and, where that is known, for how long at most or how much is done::

    waiting for clusters dc1, dc2: 7 s of at most 20 s
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from offset_sync.model.text import to_duration, visible

logger = logging.getLogger(__name__)
SOON_S = 2.0
LINE_EVERY_S = 10.0
_DRAW_EVERY_S = 0.25
LOG_FORMAT = "OFFSET_SYNC_LOG_FORMAT"
"""Environment variable of the jobs' log: text, the default, or json."""


class Wait:
    """A wait for *what*, for *at_most_s* seconds or until *total* things are done; None: not known."""

    def __init__(self, what: str, at_most_s: float | None = None, total: int | None = None) -> None:
        self.what, self._at_most_s, self._total = what, at_most_s, total
        self._done, self._began = 0, time.monotonic()

    def advance(self, count: int = 1) -> None:
        """Count things as done."""
        self._done += count

    def __str__(self) -> str:
        lasted = to_duration(round(time.monotonic() - self._began) * 1000)
        if self._at_most_s is not None:
            lasted += f" of at most {to_duration(self._at_most_s * 1000)}"
        done = "" if self._total is None else f"{self._done:,} of {self._total:,}, "
        return f"waiting for {visible(self.what)}: {done}{lasted}"


@contextmanager
def waiting(what: str, at_most_s: float | None = None, total: int | None = None) -> Iterator[Wait]:
    """Tell people about a wait while the block runs, as soon as it lasts for two seconds."""
    wait, ended = Wait(what, at_most_s, total), threading.Event()
    thread = threading.Thread(target=_tell, args=(wait, ended), name="waiting", daemon=True)
    thread.start()
    try:
        yield wait
    finally:
        ended.set()
        thread.join()


def _tell(wait: Wait, ended: threading.Event) -> None:
    if ended.wait(SOON_S):
        return
    is_for_people = sys.stderr.isatty() and os.environ.get(LOG_FORMAT, "text") == "text"
    if not is_for_people:
        logger.info("%s", wait)
        while not ended.wait(LINE_EVERY_S):
            logger.info("%s", wait)
        return
    console = Console(stderr=True)
    with Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False) as line:
        console.show_cursor()  # a signal may end the process inside, and nothing would show the cursor again
        line.update(Text(str(wait)), refresh=True)
        while not ended.wait(_DRAW_EVERY_S):
            line.update(Text(str(wait)), refresh=True)
