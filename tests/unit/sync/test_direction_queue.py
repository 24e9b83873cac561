"""The requests of a direction, and the loop beside the micro-batches."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fakes.reconciler_site import mirrored_site
from offset_sync.sync.direction_queue import DirectionQueue, ReconcileRequest, Selection, Turn
from offset_sync.sync.reconciler import ReconcileLoop


def test_requests_during_a_pass_are_done_together_and_all_callers_get_the_result() -> None:
    goes_on, done = threading.Event(), list[list[int]]()

    def reconcile(request: ReconcileRequest) -> Turn:
        assert goes_on.wait(30)
        done.append(request.rows.tolist())
        return Turn([f"{len(request.rows)} rows"], request.rest(request.rows[:0]))

    queue = DirectionQueue("X to Y", reconcile, lambda: 0.0)
    answers = [queue.ask(ReconcileRequest(Selection.CHANGED, np.array(rows))) for rows in ([1], [4, 2], [3, 2])]
    goes_on.set()
    assert [answer.result(30) for answer in answers] == [["1 rows"], ["3 rows"], ["3 rows"]]
    assert done == [[1], [4, 2, 3]]


@pytest.mark.parametrize(
    ("interval", "fails", "wakes", "calls"),
    [
        ("10m", 0, False, ["first"]),
        ("10m", 2, False, ["first", "first", "first"]),
        ("1ms", 0, False, ["first", "all", "all", "all"]),
        ("10m", 0, True, ["first", "all"]),
    ],
    ids=["once in an interval", "fails", "the interval is over", "something answers again"],
)
def test_everything_is_looked_at_first_and_each_interval(
    interval: str, fails: int, wakes: bool, calls: list[str]
) -> None:
    """The first passes fail, or something answers again during the first."""
    site = mirrored_site(sync={"trigger_interval": "5ms", "reconcile_interval": interval})
    is_ready, soon, called = threading.Event(), threading.Event(), list[str]()

    def call(*, is_first: bool) -> list[str]:
        called.append("first" if is_first else "all")
        if wakes and is_first:
            soon.set()
        if len(called) <= fails:
            raise ConnectionError("not yet")
        return []

    driver: Any = SimpleNamespace(reconcile_all=call, reconcile_waiting_for_index=lambda: called.append("waiting"))
    loop = ReconcileLoop(site.config.sync, site.state, driver, lambda: None, soon, is_ready)
    loop.pass_if_due()
    loop.follow_index()
    assert called == [], "until all is read nothing is reconciled"
    is_ready.set()
    for _ in range(4):
        with suppress(ConnectionError):
            loop.pass_if_due()
        time.sleep(0.002)
    assert called == calls
