"""What ``index_records`` says while it works: a bar on a terminal, a line now and then elsewhere, counts at the end."""

from __future__ import annotations

import logging
import os
import sys
import threading

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from offset_sync.ingest.index_parts import Backfill, IndexProgress
from offset_sync.jobs.log_format import VARIABLE
from offset_sync.status.format import to_count, to_duration

logger = logging.getLogger(__name__)
LINE_EVERY_S = 10.0
SUMMARY_EVERY_S = 60.0
_BAR_EVERY_S = 0.5


def progress_line(now: Backfill) -> str:
    """Return how far a backfill is, in one line."""
    left = "unknown" if now.seconds_left is None else to_duration(now.seconds_left * 1000)
    return f"indexing: {_counts(now)}, {now.share:.0%} of what was there at the start, time left {left}"


def caught_up_line(now: Backfill, seconds: float) -> str:
    """Return that everything which was there at the start is indexed."""
    return f"caught up after {to_duration(seconds * 1000)}: {_counts(now)}; indexing what comes"


def end_line(now: Backfill, seconds: float) -> str:
    """Return what a run with ``--once`` has done."""
    return (
        f"indexed {to_count(now.records)} records in {to_duration(seconds * 1000)}, {now.share:.0%} of what was there"
    )


def _counts(now: Backfill) -> str:
    return f"{to_count(now.records)} records, {to_count(round(now.records_per_s))} records/s"


class IndexOutput:
    """Tells of *progress* in a thread of its own until it is ended, or *stop* is set."""

    def __init__(self, progress: IndexProgress, stop: threading.Event) -> None:
        self._progress = progress
        self._stop = stop
        self._is_caught_up = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def caught_up(self) -> None:
        """Say once that the index has everything that was there at the start."""
        if not self._is_caught_up.is_set():
            self._is_caught_up.set()
            logger.info("%s", caught_up_line(self._progress.backfill(), self._progress.seconds))

    def end(self) -> None:
        """Say what was done, and tell nothing more."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        logger.info("%s", end_line(self._progress.backfill(), self._progress.seconds))

    def _run(self) -> None:
        if is_for_people():
            self._draw()
        while not self._waits(SUMMARY_EVERY_S if self._is_caught_up.is_set() else LINE_EVERY_S):
            if not self._is_caught_up.is_set():
                logger.info("%s", progress_line(self._progress.backfill()))
            else:
                logger.info("in the last minute: %s", _counts(self._progress.backfill()))

    def _draw(self) -> None:
        columns = (TextColumn("indexing"), BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=1.0)
            while not self._is_caught_up.is_set() and not self._waits(_BAR_EVERY_S):
                now = self._progress.backfill()
                left = "" if now.seconds_left is None else f", {to_duration(now.seconds_left * 1000)} left"
                bar.update(task, completed=now.share, description=f"{_counts(now)}{left}")

    def _waits(self, seconds: float) -> bool:
        """Wait, and return whether there is nothing more to tell of."""
        return self._ended.wait(seconds) or self._stop.is_set()


def is_for_people() -> bool:
    """Return whether somebody is watching: standard error is a terminal, and its lines are text."""
    return sys.stderr.isatty() and os.environ.get(VARIABLE, "text") == "text"
