"""What ``translate`` says while it works: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from offset_sync.jobs.index_output import LINE_EVERY_S, is_for_people
from offset_sync.model.errors import OffsetSyncError
from offset_sync.status.format import to_count

logger = logging.getLogger(__name__)


class TranslationProgress:
    """Counts answers out of *total*; raises OffsetSyncError as soon as *stop* is set."""

    def __init__(self, total: int, stop: threading.Event, bar: Progress | None) -> None:
        self._total, self._stop, self._bar = total, stop, bar
        self._task = bar.add_task("", total=total) if bar is not None else None
        self._done, self._said_at = 0, time.monotonic()

    def add(self, done: int) -> None:
        """Note that so many more are answered."""
        if self._stop.is_set():
            raise OffsetSyncError("stopped; nothing was printed")
        self._done += done
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=done, description=f"{to_count(self._done)} offsets")
        elif time.monotonic() - self._said_at >= LINE_EVERY_S:
            self._said_at = time.monotonic()
            logger.info("translated %s of %s offsets", to_count(self._done), to_count(self._total))


@contextmanager
def told_progress(total: int, stop: threading.Event) -> Iterator[TranslationProgress]:
    """Yield who counts, and shows it."""
    if not is_for_people():
        yield TranslationProgress(total, stop, None)
        return
    columns = (TextColumn("translating"), BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield TranslationProgress(total, stop, bar)
