"""Tells people what a command waits for: after two seconds, with a bar on a terminal, elsewhere as a log line.

The line says for how long it has waited and, where that is known, for how long at most or how much is done::

    waiting for clusters dc1, dc2 ━━━━━━━━━━╸━━━━━━━━━━━━━━━━━━━ 7 s of at most 20 s
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
from rich.progress import BarColumn, Progress, TextColumn

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

    @property
    def share(self) -> float | None:
        """How much of the wait is over, from 0 to 1; None if that is not known."""
        if self._total is not None:
            return min(1.0, self._done / max(1, self._total))
        return None if self._at_most_s is None else min(1.0, self._seconds / self._at_most_s)

    def __str__(self) -> str:
        return f"waiting for {visible(self.what)}: {self.progress}"

    @property
    def progress(self) -> str:
        """How long it has lasted, and may last, or how much is done."""
        lasted = to_duration(round(self._seconds) * 1000)
        if self._total is not None:
            return f"{self._done:,} of {self._total:,}, {lasted}"
        return lasted if self._at_most_s is None else f"{lasted} of at most {to_duration(self._at_most_s * 1000)}"

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began


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
    if is_for_people():
        _draw(wait, ended)
        return
    while True:
        logger.info("%s", wait)
        if ended.wait(LINE_EVERY_S):
            return


def _draw(wait: Wait, ended: threading.Event) -> None:
    what = TextColumn("waiting for {task.description}", markup=False)
    columns = (what, BarColumn(20), TextColumn("{task.fields[progress]}", markup=False))
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False, redirect_stdout=False) as bar:
        console.show_cursor()  # a signal may end the process inside, and nothing would show the cursor again
        task = bar.add_task("", total=1.0, progress="")
        while True:
            share = wait.share
            total, completed = (None, 0.0) if share is None else (1.0, share)
            bar.update(task, description=visible(wait.what), total=total, completed=completed, progress=wait.progress)
            bar.refresh()
            if ended.wait(_DRAW_EVERY_S):
                return


def is_for_people() -> bool:
    """Return whether the output is for people: standard error is a terminal, and its lines are text."""
    return sys.stderr.isatty() and os.environ.get(LOG_FORMAT, "text") == "text"
