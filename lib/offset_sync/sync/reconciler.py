"""Reconciles for micro-batches, the reconcile loop and commands; each direction has a queue of its own.

A direction that takes long is left behind: its unwritten keys stay due.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

import numpy as np

from offset_sync.config import Config
from offset_sync.model.errors import TakenOverError
from offset_sync.state.cluster_metadata import Fetcher
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.crossings import Crossing
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconcile_request import ReconcileRequest, Selection, Turn
from offset_sync.sync.reconciled import OffsetWriter, ReconciliationLog
from offset_sync.sync.reconciliation import ReconcilePass
from offset_sync.sync.write_plan import Translated
from offset_sync.translate.read_list import ListText

logger = logging.getLogger(__name__)
PATIENCE_S = 0.5
"""How long a micro-batch waits for a direction: longer than almost any takes while its clusters are healthy."""


Answer = Future[list[str]]
"""One line per failure."""


class Reconciler:
    """Reconciles the keys of *state*; the other arguments are those of :class:`ReconcilePass`. Threads may share it.

    Each direction has a thread of its own and works sequentially, so that an older answer never overtakes a newer one
    of the same direction.
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
        do, pause_s, pairs = self._pass.reconcile, self._pass.pause_s, config.pairs()
        self._sources = tuple(dict.fromkeys(source for source, _ in pairs))
        self._queues = {
            pair: DirectionQueue(f"{pair[0]} to {pair[1]}", partial(do, *pair), partial(pause_s, pair[1]))
            for pair in pairs
        }

    def reconcile_batch(self, source: str, rows: KeyRows, batch_id: int) -> list[str]:
        """Reconcile *rows* that *source* committed in a micro-batch, where it owns them; return a line per failure.

        A direction that takes long is left behind, and not waited for until it has caught up: its log lines come later,
        and commits that arrive in the meantime are reconciled together. If the driver dies before, the first pass of
        the next one does it, with the commits from the history.
        """
        return self._reconcile((source,), ReconcileRequest(Selection.CHANGED, rows, batch_id), PATIENCE_S)

    def reconcile_keys(self, source: str, rows: KeyRows) -> list[str]:
        """Set the target to the answers to *rows* that *source* owns, for a command; return one line per failure."""
        return self._reconcile((source,), ReconcileRequest(Selection.DECIDED, rows))

    def look(
        self, source: str, target: str, rows: KeyRows
    ) -> tuple[Translated, Mapping[int, Crossing], Mapping[int, ListText]]:
        """Return the answers and lists of :meth:`reconcile_keys`, for *rows* the source owns, without writing."""
        return self._pass.look(source, target, rows)

    def reconcile_all(self, *, is_first: bool = False, rows: KeyRows | None = None) -> list[str]:
        """Reconcile every key, or *rows*, that is not settled; return one line per failure.

        *is_first*: no key counts as settled, and every target is read whatever we expect there.
        """
        selection = Selection.EVERY if is_first else Selection.UNSETTLED
        return self._reconcile(
            self._sources, ReconcileRequest(selection, self._state.all_rows() if rows is None else rows)
        )

    def reconcile_waiting_for_index(self) -> list[str]:
        """Reconcile keys waiting for the index where it has grown since the last call; return one line per failure.

        A direction that takes long is left behind.
        """
        self._state.index.refresh()
        grown = self._state.index.take_grown()
        with self._state.lock:
            rows = [self._state.keys.keys_in(partition) for partition in grown]
        if not rows:
            return []
        return self._reconcile(self._sources, ReconcileRequest(Selection.WAITING, np.concatenate(rows)), PATIENCE_S)

    def writing_to(self, target: str) -> AbstractContextManager[object]:
        """Return the lock that is held while offsets are written to *target*."""
        return self._pass.writing_to(target)

    def close(self) -> None:
        """Drop queued requests and those to come, and return when the turns in progress have ended."""
        for queue in self._queues.values():
            queue.close()

    def _reconcile(
        self, sources: Collection[str], request: ReconcileRequest, patience_s: float | None = None
    ) -> list[str]:
        """Submit *request* to each direction from *sources*; with *patience_s* wait that long, not for late ones."""
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
    """The requests of one direction, from one source to one target, done in sequence by a thread of its own.

    So a silent cluster blocks only its own directions. Queued requests of a kind are joined: a pass takes the wanted
    offsets from the state at that time, so one pass serves all, and at most one request of a kind is queued.
    *reconcile* is called with one request at a time, *pause_s* before each turn. What a turn leaves over is queued
    again behind requests of other kinds, and before newer ones of its own. Threads may share the queue. *name* is that
    of its thread.
    """

    def __init__(self, name: str, reconcile: Callable[[ReconcileRequest], Turn], pause_s: Callable[[], float]) -> None:
        self._name, self._reconcile, self._pause_s = name, reconcile, pause_s
        self._changed = threading.Condition()
        self._waiting: dict[Selection, tuple[ReconcileRequest, list[Answer]]] = {}
        self._is_working = self._is_late = self._is_closed = False
        self._left: set[Answer] = set()

    @property
    def is_late(self) -> bool:
        """True from when a caller has stopped waiting until the queue is empty."""
        with self._changed:
            return self._is_late

    def submit(self, request: ReconcileRequest) -> Answer:
        """Queue *request* after the one in progress, joined with a queued one of its kind."""
        with self._changed:
            if self._is_closed:
                answer = Answer()
                answer.set_result([])
                return answer
            waiting, answers = self._waiting.get(request.selection, (None, []))
            answers = answers or [Answer()]
            self._waiting[request.selection] = (waiting.joined(request) if waiting else request), answers
            begins, self._is_working = not self._is_working, True
        if begins:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return answers[0]

    def leave(self, answer: Answer) -> None:
        """Stop waiting for *answer*: its failures are logged, and the next pass retries."""
        with self._changed:
            self._is_late = self._is_working
            if answer in self._left:
                return
            self._left.add(answer)
        answer.add_done_callback(self._tell)

    def close(self) -> None:
        """Drop what is queued and what will be, and return when the turn in progress has ended.

        The next driver does the rest. Who waits for an answer to what was dropped gets one without failures.
        """
        with self._changed:
            self._is_closed = True
            dropped, self._waiting = self._waiting, {}
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_working)
        for request, answers in dropped.values():
            _give(answers, request.failures)

    def _work(self) -> None:
        while (request := self._next()) is not None:
            wanted, answers = request
            try:
                turn = self._reconcile(wanted)
            except BaseException as problem:
                for answer in answers:
                    answer.set_exception(problem)
                continue
            failures = (*wanted.failures, *turn.failures)
            if not self._put_back(turn.rest, failures, answers):
                _give(answers, failures)

    def _put_back(self, rest: ReconcileRequest | None, failures: tuple[str, ...], answers: list[Answer]) -> bool:
        """Queue the *rest* of a request; return whether its *answers* are to wait for it.

        They do not if all callers have left: a target that gets more than its limit would collect them for ever.
        """
        with self._changed:
            if rest is None or self._is_closed:
                return False
            is_left = self._left.issuperset(answers)
            waiting, others = self._waiting.get(rest.selection, (None, []))
            rest = rest if is_left else replace(rest, failures=failures)
            kept = others if is_left else [*others, *answers]
            self._waiting[rest.selection] = (rest.joined(waiting) if waiting else rest), kept
            return not is_left

    def _next(self) -> tuple[ReconcileRequest, list[Answer]] | None:
        pause_s = self._pause_s()
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, pause_s)
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
            logger.error("%s: reconcile failed; the next pass retries", self._name, exc_info=problem)


def _give(answers: Iterable[Answer], failures: Iterable[str]) -> None:
    for answer in answers:
        answer.set_result([*failures])
