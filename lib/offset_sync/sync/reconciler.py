"""Has keys reconciled for micro-batches, for the growing index, at intervals, and for commands.

Each direction has a queue and a thread of its own. A micro-batch hands its request over and does not wait.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

from offset_sync.config.sections import Sync
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.crossings import Crossing
from offset_sync.sync.direction_queue import DirectionQueue, ReconcileRequest, Selection
from offset_sync.sync.reconciliation import ReconcilePass
from offset_sync.sync.write_plan import Translated
from offset_sync.translate.read_list import ListText

logger = logging.getLogger(__name__)


class Reconciler:
    """Has keys reconciled by *passes*, direction by direction. Threads may share it.

    It answers by the index as it is in memory, and never reads the tables.
    """

    def __init__(self, passes: ReconcilePass) -> None:
        self._state, self._pass = passes.state, passes
        self._queues = {
            (source, target): DirectionQueue(
                f"{source} to {target}", partial(passes.reconcile, source, target), partial(passes.pause_s, target)
            )
            for source, target in passes.pairs
        }

    def reconcile_batch(self, source: str, rows: KeyRows, batch_id: int) -> None:
        """Have *rows* reconciled that *source* committed in a micro-batch, where it owns them; does not wait.

        Commits that arrive while a direction is at work are reconciled together. If the driver dies before, the first
        pass of the next one does it, with the commits from the history.
        """
        self._submit(ReconcileRequest(Selection.CHANGED, rows, batch_id), source)

    def reconcile_waiting_for_index(self) -> None:
        """Have keys reconciled that wait for the index where it has grown since the last call; does not wait.

        A pass in progress may not have seen the growth; what it leaves waiting is there when this request's turn comes.
        """
        grown = self._state.index.take_grown()
        with self._state.lock:
            rows = [np.empty(0, np.intp), *(self._state.keys.keys_in(partition) for partition in grown)]
        self._submit(ReconcileRequest(Selection.WAITING, np.concatenate(rows)))

    def reconcile_keys(self, source: str, rows: KeyRows) -> list[str]:
        """Set the target to the answers to *rows* that *source* owns, for a command; return one line per failure."""
        return self._ask(ReconcileRequest(Selection.DECIDED, rows), source)

    def reconcile_all(self, *, is_first: bool = False, rows: KeyRows | None = None) -> list[str]:
        """Reconcile every key, or *rows*, that is not settled; return one line per failure.

        *is_first*: no key counts as settled, and every target is read whatever we expect there.
        """
        selection = Selection.EVERY if is_first else Selection.UNSETTLED
        return self._ask(ReconcileRequest(selection, self._state.all_rows() if rows is None else rows))

    def look(
        self, source: str, target: str, rows: KeyRows
    ) -> tuple[Translated, Mapping[int, Crossing], Mapping[int, ListText]]:
        """Return the answers and lists of :meth:`reconcile_keys`, for *rows* the source owns, without writing."""
        return self._pass.look(source, target, rows)

    def writing_to(self, target: str) -> AbstractContextManager[object]:
        """Return the lock that is held while offsets are written to *target*."""
        return self._pass.writing_to(target)

    def close(self) -> None:
        """Drop queued requests and those to come, and return when the turns in progress have ended."""
        for queue in self._queues.values():
            queue.close()

    def _submit(self, request: ReconcileRequest, source: str | None = None) -> None:
        for queue in self._asked(request, source):
            queue.submit(request)

    def _ask(self, request: ReconcileRequest, source: str | None = None) -> list[str]:
        answers = [queue.ask(request) for queue in self._asked(request, source)]
        return [line for answer in answers for line in answer.result()]

    def _asked(self, request: ReconcileRequest, source: str | None) -> Collection[DirectionQueue]:
        """Return the directions that a *request* is for: all, or those from a *source*."""
        queues = self._queues.items() if len(request.rows) else ()
        return [queue for (each, _), queue in queues if source in (None, each)]


class ReconcileLoop:
    """What is done beside the micro-batches: *reconciler* makes full passes, and follows the index of *state*.

    Each method is called by a thread of its own: a full pass waits for each request to a silent cluster, while the
    index of others grows. Nothing is reconciled until *is_ready* is set. Set *soon* to have a full pass made at once,
    as when a silent cluster answers again. *ended* is called after each. ``is_first``: none was whole yet.
    """

    def __init__(
        self,
        options: Sync,
        state: SyncState,
        reconciler: Reconciler,
        ended: Callable[[], None],
        soon: threading.Event,
        is_ready: threading.Event,
    ) -> None:
        self._index, self._reconciler, self._ended = state.index, reconciler, ended
        self._soon, self._is_ready = soon, is_ready
        self._interval = options.reconcile_interval.total_seconds()
        self.is_first, self._due_at = True, 0.0

    def full_pass(self, *, is_first: bool) -> list[str]:
        """Reconcile all keys that are not settled, or with *is_first* all keys; return one line per failure."""
        failures = self._reconciler.reconcile_all(is_first=is_first)
        self._ended()
        return failures

    def pass_if_due(self) -> None:
        """Make a full pass after each interval, or where it is wanted *soon*; the first one is over all keys."""
        is_due = self.is_first or self._soon.is_set() or time.monotonic() >= self._due_at
        if is_due and self._is_ready.is_set():
            self._soon.clear()
            self._due_at = time.monotonic() + self._interval
            for failure in self.full_pass(is_first=self.is_first):
                logger.warning("%s", failure)
            self.is_first = False

    def follow_index(self) -> None:
        """Take in what the tables have, the first time all of it; then have keys reconciled that waited for that.

        No other thread reads the index: commits are answered by what was taken in, and one above it waits for the next
        call. Errs to waiting.
        """
        is_new = not self._index.is_loaded
        self._index.refresh()
        if is_new:
            logs = self._index.all_logs().values()
            logger.info("record index loaded: %d runs of %d logs", sum(log.run_count for log in logs), len(logs))
        if self._is_ready.is_set():
            self._reconciler.reconcile_waiting_for_index()
