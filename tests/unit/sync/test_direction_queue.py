"""What is asked of a direction while it works: done next, in one go, and nothing of it is left out."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from offset_sync.sync.reconcile_request import ReconcileRequest, Selection, Turn
from offset_sync.sync.reconciler import Answer, DirectionQueue

CHANGED, UNSETTLED, DUE = Selection.CHANGED, Selection.UNSETTLED, Selection.DUE


def asked(selection: Selection, *rows: int) -> ReconcileRequest:
    return ReconcileRequest(selection, np.array(rows))


class Direction:
    """A queue whose passes do two rows a turn, one turn for each :meth:`let_go`."""

    def __init__(self, pause_s: Callable[[], float] = lambda: 0.0, most: int = 2) -> None:
        self.done: list[tuple[Selection, list[int]]] = []
        self.most, self._goes_on = most, threading.Semaphore(0)
        self.queue = DirectionQueue("X to Y", self._reconcile, pause_s)

    def let_go(self, turns: int = 100) -> None:
        self._goes_on.release(turns)

    def submit(self, selection: Selection, *rows: int) -> Answer:
        return self.queue.submit(asked(selection, *rows))

    def _reconcile(self, request: ReconcileRequest) -> Turn:
        assert self._goes_on.acquire(timeout=30)
        rows = request.rows[: self.most]
        self.done.append((request.selection, rows.tolist()))
        return Turn([f"{len(rows)} rows"], request.rest(request.rows[self.most :]))


def test_requests_during_a_pass_are_done_together_and_all_callers_get_the_result() -> None:
    direction = Direction(most=9)
    answers = [direction.submit(CHANGED, *rows) for rows in ([1], [4, 2], [3, 2])]
    direction.let_go()
    assert [answer.result(30) for answer in answers] == [["1 rows"], ["3 rows"], ["3 rows"]]
    assert direction.done == [(CHANGED, [1]), (CHANGED, [4, 2, 3])]


def test_what_a_turn_leaves_over_is_done_after_what_has_come_meanwhile() -> None:
    direction = Direction()
    full = direction.submit(UNSETTLED, 1, 2, 3, 4, 5)
    changed = direction.submit(CHANGED, 6)
    direction.let_go()
    assert full.result(30) == ["2 rows", "2 rows", "1 rows"]
    assert changed.result(30) == ["1 rows"]
    order = [(UNSETTLED, [1, 2]), (CHANGED, [6]), (DUE, [3, 4]), (DUE, [5])]
    assert direction.done == order


def test_what_a_turn_leaves_over_comes_before_a_later_request_of_its_kind_and_both_callers_get_the_result() -> None:
    direction = Direction()
    first = direction.submit(CHANGED, 5, 6, 7)
    later = direction.submit(CHANGED, 1, 5)
    direction.let_go()
    lines = ["2 rows", "2 rows", "1 rows"]
    assert (first.result(30), later.result(30)) == (lines, lines)
    assert direction.done == [(CHANGED, [5, 6]), (CHANGED, [7, 1]), (CHANGED, [5])]


def test_above_the_limit_every_row_has_its_turn_and_nothing_is_collected(caplog: pytest.LogCaptureFixture) -> None:
    direction = Direction(lambda: 0.001)
    direction.let_go(1000)
    for _ in range(200):
        direction.queue.leave(direction.submit(CHANGED, *range(10)))
        time.sleep(0.002)
    turns = collections.Counter(row for _, rows in direction.done for row in rows)
    assert min(turns[row] for row in range(10)) > max(turns.values()) / 2
    with direction.queue._changed:
        assert len(direction.queue._left) <= 2
        waiting = [*direction.queue._waiting.values()]
    assert all(len(request.failures) <= 1 and len(answers) <= 1 for request, answers in waiting)
    assert caplog.messages.count("2 rows") > 5, "they are logged"


def test_no_turn_begins_before_the_target_may_take_more() -> None:
    pauses = iter([0.0, 0.05, 0.0])
    direction = Direction(lambda: next(pauses, 0.0))
    direction.let_go()
    assert direction.submit(UNSETTLED, 1, 2, 3).result(30) == ["2 rows", "1 rows"]
    assert next(pauses, None) is None


def test_a_closed_queue_ends_after_the_turn_in_progress_and_answers_whoever_waits() -> None:
    direction = Direction(lambda: 60.0 if direction.done else 0.0)
    full = direction.submit(UNSETTLED, 1, 2, 3)
    changed = direction.submit(CHANGED, 4)
    direction.let_go()
    while not direction.done:
        threading.Event().wait(0.01)
    direction.queue.close()
    assert (full.result(30), changed.result(30)) == (["2 rows"], [])
    assert direction.submit(CHANGED, 5).result(30) == []
    assert direction.done == [(UNSETTLED, [1, 2])]


def test_the_turn_in_progress_is_the_last_one_of_a_closed_queue() -> None:
    direction = Direction()
    full = direction.submit(UNSETTLED, 1, 2, 3)
    closing = threading.Thread(target=direction.queue.close)
    closing.start()
    while not direction.queue._is_closed:
        time.sleep(0.01)
    direction.let_go()
    closing.join(30)
    assert full.result(30) == ["2 rows"]
    assert direction.done == [(UNSETTLED, [1, 2])]
