"""One thread and one clock for what has many in the jobs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from simulation.index_driver import PatchedTime


class Done:
    """A result that is there at once: the part of a Future that is used."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def result(self) -> Any:
        """Return what came of it."""
        return self._result


class InlineExecutor:
    """An executor that works at once, in the caller's thread."""

    def __init__(self, *_workers: object, **_options: object) -> None:
        """Start nothing."""

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is under way."""

    def submit(self, work: Any, *arguments: Any) -> Done:
        """Do it."""
        return Done(work(*arguments))


class InlineQueue:
    """A direction that is reconciled at once, in the caller's thread."""

    is_late = False

    def __init__(self, _name: str, reconcile: Any, _pause_s: object) -> None:
        self._reconcile = reconcile

    def close(self) -> None:
        """Reconcile nothing any more."""
        self._reconcile = None

    def submit(self, request: Any) -> Done:
        """Do it, turn by turn; what it raises ends everything, as the end of the process would."""
        failures, rest = [], request
        while rest is not None:
            turn = self._reconcile(rest)
            failures += turn.failures
            rest = turn.rest
        return Done(failures)


def _all_done(answers: Collection[Done], _patience_s: float | None) -> tuple[set[Done], set[Done]]:
    """Return what ``wait`` does of answers that are all there, in a tenth of the time."""
    return set(answers), set()


@contextmanager
def without_threads() -> Iterator[None]:
    """Have one thread do all the work, by the clock of the world, and nothing logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with (
        patch("offset_sync.sync.reconciler.DirectionQueue", InlineQueue),
        patch("offset_sync.sync.reconciler.wait", _all_done),
        patch("offset_sync.state.checked_metadata.RETRY_S", 0),
        patch("offset_sync.state.translator.LOOK_BACK", 3),  # logs are short here
        patch("offset_sync.jobs.sync_batch.ThreadPoolExecutor", InlineExecutor),
        patch("offset_sync.ingest.log_check.ThreadPoolExecutor", InlineExecutor),
        patch("offset_sync.status.cluster_queries.ThreadPoolExecutor", InlineExecutor),
        patch("offset_sync.status.reporter.ThreadPoolExecutor", InlineExecutor),
        patch("offset_sync.ingest.record_indexer.datetime", PatchedTime),
        patch("offset_sync.ingest.log_check.datetime", PatchedTime),
        patch("offset_sync.ingest.incarnation_check.time", PatchedTime),
        patch("offset_sync.ingest.incarnation_log.datetime", PatchedTime),
        patch("offset_sync.state.topic_partitions.datetime", PatchedTime),
    ):
        try:
            yield
        finally:
            logging.disable(before)
