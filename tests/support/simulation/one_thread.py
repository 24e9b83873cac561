"""One thread and one clock for what has many in the jobs."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from simulation.index_driver import PatchedTime


class InlineExecutor:
    """An executor that works at once, in the thread of whoever asks."""

    def __init__(self, *_workers: object, **_options: object) -> None:
        """Start nothing."""

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is under way."""

    def submit(self, work: Any, *arguments: Any) -> Future[Any]:
        """Do it."""
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done


class InlineQueue:
    """A direction that is reconciled at once, in the thread of whoever asks."""

    is_late = False

    def __init__(self, _name: str, reconcile: Any) -> None:
        self._reconcile = reconcile

    def submit(self, request: Any) -> Future[Any]:
        """Do it; what it raises ends everything, as the end of the process would."""
        done: Future[Any] = Future()
        done.set_result(self._reconcile(request))
        return done


@contextmanager
def without_threads() -> Iterator[None]:
    """Have one thread do all the work, by the clock of the world, and nothing logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with (
        patch("offset_sync.sync.reconciler.DirectionQueue", InlineQueue),
        patch("offset_sync.state.checked_metadata.RETRY_S", 0),
        patch("offset_sync.jobs.sync_batch.ThreadPoolExecutor", InlineExecutor),
        patch("offset_sync.ingest.record_indexer.datetime", PatchedTime),
        patch("offset_sync.ingest.log_check.datetime", PatchedTime),
        patch("offset_sync.ingest.due_logs.time", PatchedTime),
        patch("offset_sync.ingest.incarnation_log.datetime", PatchedTime),
    ):
        try:
            yield
        finally:
            logging.disable(before)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for cycles of what nobody knows any more only now and then, and never among what is there for good."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
