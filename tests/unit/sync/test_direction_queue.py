"""The requests of a direction, and the loop beside the micro-batches."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fakes.reconciler_site import mirrored_site
from offset_sync.sync.reconcile_loop import ReconcileLoop
from offset_sync.sync.reconcile_request import ReconcileRequest, Selection, Turn
from offset_sync.sync.reconciler import DirectionQueue


def test_requests_during_a_pass_are_done_together_and_all_callers_get_the_result() -> None:
    goes_on, done = threading.Event(), list[list[int]]()

    def reconcile(request: ReconcileRequest) -> Turn:
        assert goes_on.wait(30)
        done.append(request.rows.tolist())
        return Turn([f"{len(request.rows)} rows"], request.rest(request.rows[:0]))

    queue = DirectionQueue("X to Y", reconcile, lambda: 0.0)
    answers = [queue.submit(ReconcileRequest(Selection.CHANGED, np.array(rows))) for rows in ([1], [4, 2], [3, 2])]
    goes_on.set()
    assert [answer.result(30) for answer in answers] == [["1 rows"], ["3 rows"], ["3 rows"]]
    assert done == [[1], [4, 2, 3]]


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
    """The first passes fail, something answers again during the second, and the fourth is the last one."""
    site = mirrored_site(sync={"trigger_interval": "5ms", "reconcile_interval": interval})
    stop, is_ready, soon, called = threading.Event(), threading.Event(), threading.Event(), list[str]()

    def call(what: str) -> list[str]:
        called.append(what)
        if wakes and len(called) == 2:
            soon.set()
        if len(called) == 4:
            stop.set()
        if len(called) <= fails:
            raise ConnectionError("not yet")
        return []

    driver: Any = SimpleNamespace(
        reconcile_all=lambda *, is_first: call("first" if is_first else "all"),
        reconcile_waiting_for_index=lambda: call("waiting"),
    )
    is_ready.set()
    ReconcileLoop(site.config.sync, site.state, driver, lambda: None, soon).run(stop, is_ready)
    assert called == calls
