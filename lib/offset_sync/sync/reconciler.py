"""Who is asked to reconcile, by micro-batches, the reconcile loop and people; each direction has a queue of its own.

A direction that takes long is left behind: what is not written yet stays due.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from functools import partial

import numpy as np

from offset_sync.config import Config
from offset_sync.model.errors import TakenOverError
from offset_sync.state.cluster_metadata import Fetcher
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.crossings import Crossing
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciliation import (
    OffsetWriter,
    ReconcilePass,
    ReconcileRequest,
    ReconciliationLog,
    Selection,
)
from offset_sync.sync.write_plan import Translated
from offset_sync.translate.read_list import ListText

logger = logging.getLogger(__name__)
PATIENCE_S = 0.5
"""So long whoever goes on reading waits for a direction: longer than almost any takes while its clusters are well."""


Answer = Future[list[str]]
"""One line per failure."""


class Reconciler:
    """Reconciles what *state* knows; the others are those of :class:`ReconcilePass`. Threads may share it.

    Each direction has a thread of its own, which does one thing after the other: so an older answer never overtakes a
    newer one of the same direction.
    """

    def __init__(
        self,
        config: Config,
        state: SyncState,
        fetcher: Fetcher,
        writers: Mapping[str, OffsetWriter],
        history: ReconciliationLog,
        lists: ReadLists,
    ) -> None:
        self._state = state
        self._pass = ReconcilePass(config, state, fetcher, writers, history, lists)
        do, pairs = self._pass.reconcile, config.pairs()
        self._sources = tuple(dict.fromkeys(source for source, _ in pairs))
        self._queues = {pair: DirectionQueue(f"{pair[0]} to {pair[1]}", partial(do, *pair)) for pair in pairs}

    def reconcile_batch(self, source: str, rows: KeyRows, batch_id: int) -> list[str]:
        """Reconcile *rows* that *source* committed in a micro-batch, where it owns them; return a line per failure.

        A direction that takes long is left behind, and nobody waits for it again before it has caught up: its log lines
        come later, and what was brought meanwhile is reconciled in one go. A driver that dies before has it done by the
        first pass of the next one, which knows the commits from the history.
        """
        return self._reconcile((source,), ReconcileRequest(Selection.CHANGED, rows, batch_id), PATIENCE_S)

    def reconcile_keys(self, source: str, rows: KeyRows) -> list[str]:
        """Set the target to the answers to *rows* that *source* owns, for a person; return one line per failure."""
        return self._reconcile((source,), ReconcileRequest(Selection.DECIDED, rows))

    def look(
        self, source: str, target: str, rows: KeyRows
    ) -> tuple[Translated, Mapping[int, Crossing], Mapping[int, ListText]]:
        """Return what :meth:`reconcile_keys` would answer and list, for *rows* that the source owns; writes nothing."""
        return self._pass.look(source, target, rows)

    def reconcile_all(self, *, is_first: bool = False) -> list[str]:
        """Reconcile every key that is not settled; return one line per failure.

        *is_first*: nothing is taken as settled and every target is read, whatever we believe stands there.
        """
        selection = Selection.EVERY if is_first else Selection.UNSETTLED
        return self._reconcile(self._sources, ReconcileRequest(selection, self._state.all_rows()))

    def reconcile_waiting_for_index(self) -> list[str]:
        """Reconcile what waits for the index, where it has grown since the last call; return one line per failure.

        A direction that takes long is left behind.
        """
        self._state.index.refresh()
        grown = self._state.index.take_grown()
        with self._state.lock:
            rows = [self._state.keys.keys_in(partition) for partition in grown]
        if not rows:
            return []
        return self._reconcile(self._sources, ReconcileRequest(Selection.WAITING, np.concatenate(rows)), PATIENCE_S)

    def close(self) -> None:
        """Begin nothing more of what waits, and return when what is under way has ended."""
        for queue in self._queues.values():
            queue.close()

    def _reconcile(
        self, sources: Collection[str], request: ReconcileRequest, patience_s: float | None = None
    ) -> list[str]:
        """Have each direction from *sources* do *request*; with a patience, wait so long, and for none that is late."""
        if len(request.rows) == 0:
            return []
        self._state.index.refresh()
        asked = []
        for (source, _), queue in self._queues.items():
            if source in sources:
                was_late = queue.is_late and patience_s is not None
                asked.append((queue, queue.submit(request), was_late))
        done, _ = wait([answer for _, answer, was_late in asked if not was_late], patience_s)
        for queue, answer, _ in asked:
            if answer not in done:
                queue.leave(answer)
        return [line for _, answer, _ in asked if answer in done for line in answer.result()]


class DirectionQueue:
    """What is asked of one direction, from one source to one target: one thing after the other, in a thread of its own.

    So a silent cluster keeps only its own directions waiting. What comes meanwhile is joined: the state says what is
    wanted by then, so one pass does for all of them, and no more than one request of a kind ever waits. *reconcile* is
    called with one request at a time; threads may share the queue. *name* is that of its thread.
    """

    def __init__(self, name: str, reconcile: Callable[[ReconcileRequest], list[str]]) -> None:
        self._name, self._reconcile = name, reconcile
        self._changed = threading.Condition()
        self._waiting: dict[Selection, tuple[ReconcileRequest, Answer]] = {}
        self._is_working = self._is_late = False
        self._left: set[Answer] = set()

    @property
    def is_late(self) -> bool:
        """True from when somebody has given up waiting until nothing is left to do."""
        with self._changed:
            return self._is_late

    def submit(self, request: ReconcileRequest) -> Answer:
        """Have *request* done after what is under way, together with what waits and is of its kind."""
        with self._changed:
            waiting, answer = self._waiting.get(request.selection, (None, Answer()))
            self._waiting[request.selection] = (waiting.joined(request) if waiting else request), answer
            begins, self._is_working = not self._is_working, True
        if begins:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return answer

    def leave(self, answer: Answer) -> None:
        """Wait no longer for *answer*: the log is told what comes of it, and the next pass makes up for it."""
        with self._changed:
            self._is_late = self._is_working
            if answer in self._left:
                return
            self._left.add(answer)
        answer.add_done_callback(self._tell)

    def close(self) -> None:
        """Drop what waits, and return when what is under way has ended; the next driver finds what is left."""
        with self._changed:
            self._waiting.clear()
            self._changed.wait_for(lambda: not self._is_working)

    def _work(self) -> None:
        while (request := self._next()) is not None:
            wanted, answer = request
            try:
                answer.set_result(self._reconcile(wanted))
            except BaseException as problem:
                answer.set_exception(problem)

    def _next(self) -> tuple[ReconcileRequest, Answer] | None:
        with self._changed:
            if self._waiting:
                return self._waiting.pop(next(iter(self._waiting)))
            self._is_working = self._is_late = False
            self._changed.notify_all()
            return None

    def _tell(self, answer: Answer) -> None:
        with self._changed:
            self._left.discard(answer)
        problem = answer.exception()
        if problem is None:
            for line in answer.result():
                logger.warning("%s", line)
        elif not isinstance(problem, TakenOverError):  # the job is stopping then, and says why
            logger.error("%s: not reconciled, tried again by the next pass", self._name, exc_info=problem)
