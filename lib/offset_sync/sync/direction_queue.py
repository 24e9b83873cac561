"""What is asked of one direction, from one source to one target: one thing after the other, in a thread of its own.

So a silent cluster keeps only its own directions waiting. What comes meanwhile is joined: the state says what is wanted
by then, so one pass does for all of them, and no more than one request of a kind ever waits.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from offset_sync.model.errors import TakenOverError
from offset_sync.sync.reconciliation import ReconcileRequest, Selection

logger = logging.getLogger(__name__)
Answer = Future[list[str]]
"""One line per failure."""


def in_thread(name: str, work: Callable[[], None]) -> None:
    """Do *work* beside whoever asks."""
    threading.Thread(target=work, name=name, daemon=True).start()


class DirectionQueue:
    """Calls *reconcile* with one request at a time; threads may share it. *name* is that of its thread."""

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
            in_thread(self._name, self._work)
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
