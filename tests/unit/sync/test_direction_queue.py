"""The turns of a direction, the limit of commits per second, and the loop beside the micro-batches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from builders.logs import log
from fakes.reconciler_site import Site, config_of
from offset_sync.sync.reconcile_loop import ReconcileLoop
from offset_sync.sync.reconcile_request import ReconcileRequest, Selection, Turn
from offset_sync.sync.reconciler import Answer, DirectionQueue
from offset_sync.sync.write_pace import Pace

CHANGED, UNSETTLED = Selection.CHANGED, Selection.UNSETTLED


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


# The limit of commits per second at a target
class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_turn_is_paid_for_before_the_next_begins() -> None:
    clock = Clock()
    pace = Pace(100, clock)
    assert (pace.turn, pace.pause_s()) == (100, 0.0)
    pace.note(50)
    assert pace.pause_s() == 0.5
    clock.now += 0.25
    pace.note(100)  # another direction's turn, which had begun before
    assert pace.pause_s() == 1.25
    clock.now += 1.25
    assert pace.pause_s() == 0.0


RECORDS, GROUPS = 100, [f"g{number:02}" for number in range(50)]


def site_of(limit: object) -> Site:
    site = Site(config_of(["X", "Y"], sync={"max_commits_per_second": limit}))
    site.put(log("X", f"X0:{RECORDS}"))
    site.put(log("Y", f"X0:{RECORDS}", first=7))
    for number, group in enumerate(GROUPS):
        site.commit("X", group, number)
    return site


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize(("limit", "turns"), [("off", [50]), (30, [30, 20])])
def test_a_pass_writes_everything_a_seconds_worth_at_a_time(limit: object, turns: list[int], is_first: bool) -> None:
    site = site_of(limit)
    assert site.reconcile(is_first=is_first) == []
    assert [len(each.plan.writes) for each in site.reconciliations] == turns
    assert [site.target_offset("Y", group) for group in GROUPS] == [7 + number for number in range(50)]


ENOUGH = 4


@dataclass
class Driver:
    """What the loop calls: it is stopped after some calls, and the first *fails_first* ones raise."""

    fails_first: int = 0
    reconcile_interval: str = "10m"
    calls: list[str] = field(default_factory=list)
    wakes: bool = False

    def __post_init__(self) -> None:
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
        if len(self.calls) == ENOUGH:
            self.stop.set()
        if len(self.calls) <= self.fails_first:
            raise ConnectionError("not yet")
        return []

    def run(self) -> list[str]:
        """Run the loop until it is stopped."""
        sync = {"trigger_interval": "5ms", "reconcile_interval": self.reconcile_interval}
        site = Site(config_of(["X", "Y"], sync=sync))
        reconciler: Any = self
        loop = ReconcileLoop(site.config.sync, site.state, reconciler, lambda: None, self.soon)
        loop.run(self.stop, self.is_ready)
        return self.calls


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("driver", "calls"),
    [
        (Driver(), ["first", "waiting", "waiting", "waiting"]),
        (Driver(fails_first=2), ["first", "first", "first", "waiting"]),
        (Driver(reconcile_interval="1ms"), ["first", "all", "all", "all"]),
        (Driver(wakes=True), ["first", "waiting", "all", "waiting"]),
    ],
    ids=["between two passes what waits for the index", "fails", "the interval is over", "something answers again"],
)
def test_everything_is_looked_at_first_and_each_interval(driver: Driver, calls: list[str]) -> None:
    assert driver.run() == calls
