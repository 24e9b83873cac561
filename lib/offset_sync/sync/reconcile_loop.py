"""Passes beside the micro-batches: keys waiting for the index whenever it grows, all keys once per interval."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from offset_sync.config.sections import Sync
from offset_sync.model.errors import TakenOverError
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.reconciler import Reconciler

logger = logging.getLogger(__name__)
_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 0.5
"""How long keys waiting for the index wait for the full pass; after that both run in parallel."""


class ReconcileLoop:
    """Reconciles *state* by *reconciler*; set *soon* to start a full pass with the next turn.

    As when a silent cluster answers again. *ended* is called after each full pass. ``is_first``: none was whole yet.
    """

    def __init__(
        self, options: Sync, state: SyncState, reconciler: Reconciler, ended: Callable[[], None], soon: threading.Event
    ) -> None:
        self._state, self._soon = state, soon
        self._reconciler = reconciler
        self._ended = ended
        self._interval = options.reconcile_interval.total_seconds()
        self.is_first, self._due_at = True, 0.0
        self._pause = min(options.trigger_interval.total_seconds(), self._interval)

    def full_pass(self, *, is_first: bool) -> list[str]:
        """Reconcile all keys that are not settled, or with *is_first* all keys; return one line per failure."""
        failures = self._reconciler.reconcile_all(is_first=is_first)
        self._ended()
        return failures

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Make passes until *stop* is set; the first, over all keys, as soon as *is_ready* is set.

        Until then the commit logs are read, and in parallel the index, which may take longer.
        """
        threading.Thread(target=self._make, args=(self._read_index,), name="reading the index", daemon=True).start()
        full: threading.Thread | None = None
        while not stop.wait(_POLL_SECONDS if self.is_first else self._pause):
            if not is_ready.is_set():
                continue
            is_due = self.is_first or self._soon.is_set() or time.monotonic() >= self._due_at
            if is_due and (full is None or not full.is_alive()):
                self._soon.clear()
                self._due_at = time.monotonic() + self._interval
                # In parallel: it waits for each request to a silent cluster while the index of others grows.
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
        logger.info("record index loaded: %d runs of %d logs", sum(log.run_count for log in logs), len(logs))
        return []

    def _make_full(self) -> list[str]:
        failures = self.full_pass(is_first=self.is_first)
        self.is_first = False
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
