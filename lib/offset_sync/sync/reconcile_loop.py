"""The passes beside the micro-batches: what waits for the index whenever it grows, everything once per interval."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from offset_sync.config.sections import Sync
from offset_sync.model.errors import TakenOverError
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.deletions import OffsetDeleter, follow_deletions
from offset_sync.sync.reconciler import Reconciler

logger = logging.getLogger(__name__)
_POLL_SECONDS = 0.2


class PassTimer(Protocol):
    """Who times the passes."""

    def reconciling(self) -> AbstractContextManager[None]:
        """Time what is done inside."""


class ReconcileLoop:
    """Reconciles *state* by *reconciler*; with ``deletes: follow`` also deletes at *targets* what owners deleted."""

    def __init__(
        self,
        options: Sync,
        state: SyncState,
        reconciler: Reconciler,
        targets: Mapping[str, OffsetDeleter],
        timer: PassTimer,
    ) -> None:
        self._state = state
        self._reconciler = reconciler
        self._targets = targets if options.deletes == "follow" else {}
        self._timer = timer
        self._interval = options.reconcile_interval.total_seconds()
        self._pause = min(options.trigger_interval.total_seconds(), self._interval)

    def full_pass(self, *, is_first: bool) -> list[str]:
        """Reconcile everything that is not settled, or with *is_first* everything; return one line per failure."""
        with self._timer.reconciling():
            failures = self._reconciler.reconcile_all(is_first=is_first)
            if self._targets:
                failures += follow_deletions(self._state, self._targets)
            return failures

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Make passes until *stop* is set; the first, of everything, as soon as *is_ready* is."""
        is_first, due_at = True, 0.0
        while not stop.wait(_POLL_SECONDS if is_first else self._pause):
            if not is_ready.is_set():
                continue
            is_due = is_first or time.monotonic() >= due_at
            due_at = time.monotonic() + self._interval if is_due else due_at
            try:
                failures = (
                    self.full_pass(is_first=is_first) if is_due else self._reconciler.reconcile_waiting_for_index()
                )
                is_first = False
            except TakenOverError:
                return  # the job is stopping, and says why
            except Exception:  # keep the loop alive: the next pass sees the same state and tries again
                logger.exception("reconcile pass failed")
                continue
            for failure in failures:
                logger.warning("%s", failure)
