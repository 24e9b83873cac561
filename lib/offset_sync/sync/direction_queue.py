"""The requests of one direction, from one source to one target: done in sequence, turn by turn, by one thread."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from offset_sync.model.errors import TakenOverError
from offset_sync.state.key_index import KeyRows

logger = logging.getLogger(__name__)
Answer = Future[list[str]]
"""One line per failure."""
Answers = dict[Answer, list[str]]
"""What callers wait for, with the failures of its turns so far."""


class Selection(Enum):
    """Which of the requested rows are reconciled."""

    EVERY = auto()  # all, whatever was answered before; every target is read
    DECIDED = auto()  # the same, by a command: the target is set to the answer, even over the value of others
    CHANGED = auto()  # all: those of a micro-batch
    UNSETTLED = auto()  # those whose answer may have changed
    DUE = auto()  # all: unsettled ones, left over by the limit of a target
    WAITING = auto()  # those whose answer waited for the index


@dataclass(frozen=True)
class ReconcileRequest:
    """Reconcile *selection* of *rows* where the source of the direction owns them; *batch_id*: of a micro-batch."""

    selection: Selection
    rows: KeyRows
    batch_id: int | None = None

    def joined(self, later: ReconcileRequest) -> ReconcileRequest:
        """Return one request for both, which are of the same kind, the earlier rows first."""
        rows = np.concatenate([self.rows, later.rows[~np.isin(later.rows, self.rows)]])
        return replace(later, rows=rows)

    def rest(self, rows: KeyRows) -> ReconcileRequest | None:
        """Return the request for the *rows* that a turn has left over, None for none."""
        selection = Selection.DUE if self.selection is Selection.UNSETTLED else self.selection
        return replace(self, selection=selection, rows=rows) if len(rows) else None


@dataclass(frozen=True)
class Turn:
    """What a pass has done until the target's limit ended its turn: a line per failure, and the *rest* to do."""

    failures: list[str]
    rest: ReconcileRequest | None = None


class Pace:
    """At most *per_second* commits (a group's offset of one partition each) at a target; None: as many as there are.

    A turn has at most a second's worth, and the next one waits until as much time has passed as its commits take at the
    limit. Turns of two directions may begin together; the pause after them is then as long as for both. So the limit
    holds over some seconds, not in each one. Threads may share it.
    """

    def __init__(self, per_second: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.turn = per_second
        self._per_second, self._clock = per_second, clock
        self._lock, self._paid_at = threading.Lock(), clock()

    def note(self, commits: int) -> None:
        """Count so many *commits* as sent now."""
        if self._per_second is not None:
            with self._lock:
                self._paid_at = max(self._paid_at, self._clock()) + commits / self._per_second

    def pause_s(self) -> float:
        """Return how many seconds from now the next turn may begin, 0 for at once."""
        with self._lock:
            return max(self._paid_at - self._clock(), 0.0)


class DirectionQueue:
    """The requests of one direction, done in sequence by a thread of its own.

    So an older answer never overtakes a newer one, and a silent cluster blocks only its own directions. Queued requests
    of a kind are joined: a pass takes the wanted offsets from the state at that time, so one pass serves all, and at
    most one request of a kind is queued. *reconcile* is called with one request at a time, *pause_s* before each turn.
    What a turn leaves over is queued again behind requests of other kinds, and before newer ones of its own. Threads
    may share the queue. *name* is that of its thread.
    """

    def __init__(self, name: str, reconcile: Callable[[ReconcileRequest], Turn], pause_s: Callable[[], float]) -> None:
        self._name, self._reconcile, self._pause_s = name, reconcile, pause_s
        self._changed = threading.Condition()
        self._waiting: dict[Selection, tuple[ReconcileRequest, Answers]] = {}
        self._is_working = self._is_closed = False

    def submit(self, request: ReconcileRequest) -> None:
        """Queue *request* after the one in progress, joined with a queued one of its kind; log its failures."""
        self._put(request, {})

    def ask(self, request: ReconcileRequest) -> Answer:
        """Queue *request* as :meth:`submit` does; return the failures of all its turns, once they are done."""
        answer = Answer()
        if not self._put(request, {answer: []}):
            answer.set_result([])
        return answer

    def close(self) -> None:
        """Drop what is queued and what will be, and return when the turn in progress has ended.

        The next driver does the rest. Who waits for an answer to what was dropped gets the failures so far.
        """
        with self._changed:
            self._is_closed = True
            dropped, self._waiting = self._waiting, {}
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_working)
        for _, answers in dropped.values():
            self._give(answers)

    def _put(self, request: ReconcileRequest, answers: Answers, *, is_rest: bool = False) -> bool:
        """Queue *request*, before a queued one of its kind where it *is_rest*; False: the queue is closed."""
        with self._changed:
            if self._is_closed:
                return False
            if (queued := self._waiting.get(request.selection)) is not None:
                waiting, others = queued
                request = request.joined(waiting) if is_rest else waiting.joined(request)
                answers = {**others, **answers}
            self._waiting[request.selection] = request, answers
            begins, self._is_working = not self._is_working, True
        if begins:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return True

    def _work(self) -> None:
        while (queued := self._next()) is not None:
            request, answers = queued
            try:
                turn = self._reconcile(request)
            except BaseException as problem:
                self._fail(answers, problem)
                continue
            for failures in answers.values():
                failures += turn.failures
            for failure in turn.failures if not answers else ():
                logger.warning("%s", failure)
            if turn.rest is None or not self._put(turn.rest, answers, is_rest=True):
                self._give(answers)

    def _next(self) -> tuple[ReconcileRequest, Answers] | None:
        pause_s = self._pause_s()
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, pause_s)
            if self._waiting:
                return self._waiting.pop(next(iter(self._waiting)))
            self._is_working = False
            self._changed.notify_all()
            return None

    def _give(self, answers: Answers) -> None:
        for answer, failures in answers.items():
            answer.set_result(failures)

    def _fail(self, answers: Answers, problem: BaseException) -> None:
        for answer in answers:
            answer.set_exception(problem)
        if not answers and not isinstance(problem, TakenOverError):  # the job is stopping then, and says why
            logger.error("%s: reconcile failed; the next pass retries", self._name, exc_info=problem)
