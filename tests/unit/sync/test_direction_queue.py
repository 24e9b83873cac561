"""The turns of a direction, the limit of commits per second, and the loop beside the micro-batches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fakes.reconciler_site import mirrored_site
from offset_sync.sync.reconcile_loop import ReconcileLoop
from offset_sync.sync.reconcile_request import ReconcileRequest, Selection, Turn
from offset_sync.sync.reconciler import Answer, DirectionQueue

CHANGED, UNSETTLED = Selection.CHANGED, Selection.UNSETTLED


class Direction:
    """A queue whose passes do two rows a turn, one turn for each :meth:`let_go`."""

    def __init__(self, pause_s: Callable[[], float] = lambda: 0.0, most: int = 2) -> None:
        self.done: list[tuple[Selection, list[int]]] = []
        self.most, self._goes_on = most, threading.Semaphore(0)
        self.queue = DirectionQueue("X to Y", self._reconcile, pause_s)

    def let_go(self, turns: int = 100) -> None:
        self._goes_on.release(turns)

    def submit(self, selection: Selection, *rows: int) -> Answer:
        return self.queue.submit(ReconcileRequest(selection, np.array(rows)))

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


class Driver:
    """What the loop calls: its first passes fail, something answers again during the second, and the fourth is last."""

    def __init__(self, fails: int, wakes: bool) -> None:
        self.fails, self.wakes, self.calls = fails, wakes, list[str]()
        self.stop, self.is_ready, self.soon = threading.Event(), threading.Event(), threading.Event()
        self.is_ready.set()

    def reconcile_all(self, *, is_first: bool) -> list[str]:
        return self._note("first" if is_first else "all")

    def reconcile_waiting_for_index(self) -> list[str]:
        return self._note("waiting")

    def _note(self, call: str) -> list[str]:
        self.calls.append(call)
        if self.wakes and len(self.calls) == 2:
            self.soon.set()
        if len(self.calls) == 4:
            self.stop.set()
        if len(self.calls) <= self.fails:
            raise ConnectionError("not yet")
        return []


@pytest.mark.parametrize(
    ("interval", "fails", "wakes", "calls"),
    [
        ("10m", 0, False, ["first", "waiting", "waiting", "waiting"]),
        ("10m", 2, False, ["first", "first", "first", "waiting"]),
        ("1ms", 0, False, ["first", "all", "all", "all"]),
        ("10m", 0, True, ["first", "waiting", "all", "waiting"]),
    ],
    ids=["between two passes what waits for the index", "fails", "the interval is over", "something answers again"],
)
def test_everything_is_looked_at_first_and_each_interval(
    interval: str, fails: int, wakes: bool, calls: list[str]
) -> None:
    driver: Any = Driver(fails, wakes)
    site = mirrored_site(sync={"trigger_interval": "5ms", "reconcile_interval": interval})
    ReconcileLoop(site.config.sync, site.state, driver, lambda: None, driver.soon).run(driver.stop, driver.is_ready)
    assert driver.calls == calls
