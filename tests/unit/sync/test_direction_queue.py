"""What is asked of a direction while it works: done next, in one go, and nothing of it is left out."""

from __future__ import annotations

import threading

import numpy as np

from offset_sync.sync.reconciler import DirectionQueue
from offset_sync.sync.reconciliation import ReconcileRequest, Selection


def test_requests_during_a_pass_are_done_together_and_all_callers_get_the_result() -> None:
    goes_on, done = threading.Event(), list[list[int]]()

    def reconcile(request: ReconcileRequest) -> list[str]:
        assert goes_on.wait(30)
        done.append(request.rows.tolist())
        return [f"{len(request.rows)} rows"]

    queue = DirectionQueue("X to Y", reconcile)
    requests = [ReconcileRequest(Selection.CHANGED, np.array(rows), n) for n, rows in enumerate(([1], [4, 2], [3, 2]))]
    answers = [queue.submit(each) for each in requests]
    goes_on.set()
    assert [answer.result(30) for answer in answers] == [["1 rows"], ["3 rows"], ["3 rows"]]
    assert done == [[1], [2, 3, 4]]
