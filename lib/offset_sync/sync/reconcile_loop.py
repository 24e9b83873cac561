"""The passes beside the micro-batches: what waits for the index whenever it grows, everything once per interval."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from offset_sync.config.sections import Sync
from offset_sync.model.errors import TakenOverError
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.reconciler import Reconciler

logger = logging.getLogger(__name__)
_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 0.5
"""So long what waits for the index waits for the pass over everything; past that they go on side by side."""


class PassTimer(Protocol):
    """Who times the passes."""

    def reconciling(self) -> AbstractContextManager[None]:
        """Time what is done inside."""


class ReconcileLoop:
    """Reconciles *state* by *reconciler*; everything with the next turn where *soon* is set.

    As when something that was silent answers again.
    """

    def __init__(
        self, options: Sync, state: SyncState, reconciler: Reconciler, timer: PassTimer, soon: threading.Event
    ) -> None:
        self._state, self._soon = state, soon
        self._reconciler = reconciler
        self._timer = timer
        self._interval = options.reconcile_interval.total_seconds()
        self._is_first, self._due_at = True, 0.0
        self._pause = min(options.trigger_interval.total_seconds(), self._interval)

    def full_pass(self, *, is_first: bool) -> list[str]:
        """Reconcile everything that is not settled, or with *is_first* everything; return one line per failure."""
        with self._timer.reconciling():
            return self._reconciler.reconcile_all(is_first=is_first)

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Make passes until *stop* is set; the first, of everything, as soon as *is_ready* is.

        Until then the logs of commits are read, and the index beside them, which may take longer.
        """
        threading.Thread(target=self._make, args=(self._read_index,), name="reading the index", daemon=True).start()
        full: threading.Thread | None = None
        while not stop.wait(_POLL_SECONDS if self._is_first else self._pause):
            if not is_ready.is_set():
                continue
            is_due = self._is_first or self._soon.is_set() or time.monotonic() >= self._due_at
            if is_due and (full is None or not full.is_alive()):
                self._soon.clear()
                self._due_at = time.monotonic() + self._interval
                # Beside: of a silent cluster it waits for each request, and the others' index grows meanwhile.
                full = threading.Thread(target=self._make, args=(self._make_full,), name="full pass", daemon=True)
                full.start()
                full.join(_PATIENCE_SECONDS)
                continue
            self._make(self._reconciler.reconcile_waiting_for_index)
        if full is not None:
            full.join()

    def _read_index(self) -> list[str]:
        self._state.index.refresh()
        logs = self._state.index.all_logs().values()
        logger.info("the index is read: %d runs of %d logs", sum(log.run_count for log in logs), len(logs))
        return []

    def _make_full(self) -> list[str]:
        failures = self.full_pass(is_first=self._is_first)
        self._is_first = False
        return failures

    def _make(self, make_pass: Callable[[], list[str]]) -> None:
        try:
            failures = make_pass()
        except TakenOverError:
            return  # the job is stopping, and says why
        except Exception:  # keep the loop alive: the next pass sees the same state and tries again
            logger.exception("reconcile pass failed")
            return
        for failure in failures:
            logger.warning("%s", failure)
