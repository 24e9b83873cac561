"""One thread and one clock for what has many in the jobs."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import patch

from offset_sync.model.errors import ClusterError
from simulation.index_driver import PatchedTime


class Done:
    """A result that is there at once: the part of a Future that is used."""

    def __init__(self, result: Any) -> None:
        self.result = lambda: result


class InlineExecutor:
    """An executor that works at once, in the caller's thread."""

    def __init__(self, *_workers: object, **_options: object) -> None:
        """Start nothing."""

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is under way."""

    def submit(self, work: Any, *arguments: Any) -> Done:
        return Done(work(*arguments))

    def map(self, work: Any, *columns: Any) -> list[Any]:
        return [work(*each) for each in zip(*columns, strict=True)]


class InlineQueue:
    """A direction that is reconciled at once, in the caller's thread."""

    def __init__(self, _name: str, reconcile: Any, _pause_s: object) -> None:
        self._reconcile = reconcile

    def close(self) -> None:
        self._reconcile = None

    def submit(self, request: Any) -> None:
        """Do it; what fails is done again by the next pass."""
        with suppress(ClusterError, OSError):
            self.ask(request)

    def ask(self, request: Any) -> Done:
        """Do it, turn by turn; what it raises ends everything, as the end of the process would."""
        failures, rest = [], request
        while rest is not None:
            turn = self._reconcile(rest)
            failures += turn.failures
            rest = turn.rest
        return Done(failures)


_INSTEAD = {
    "sync.reconciler.DirectionQueue": InlineQueue,
    "state.checked_metadata.RETRY_S": 0,
    "state.translator.LOOK_BACK": 3,  # logs are short here
    "ingest.log_check.ThreadPoolExecutor": InlineExecutor,
    "status.held_offsets.ThreadPoolExecutor": InlineExecutor,
    **dict.fromkeys(("ingest.record_indexer.datetime", "ingest.log_check.datetime"), PatchedTime),
    **dict.fromkeys(("ingest.incarnation_check.time", "ingest.incarnation_log.datetime"), PatchedTime),
    "state.topic_partitions.datetime": PatchedTime,
}


@contextmanager
def without_threads() -> Iterator[None]:
    """Have one thread do all the work, by the clock of the world; garbage is seldom collected, and nothing logged."""
    before = logging.root.manager.disable, gc.get_threshold()
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    with ExitStack() as stack:
        for name, instead in _INSTEAD.items():
            stack.enter_context(patch(f"offset_sync.{name}", instead))
        try:
            yield
        finally:
            logging.disable(before[0])
            gc.set_threshold(*before[1])
            gc.unfreeze()
