"""What the index does not believe: a restored checkpoint, a number in a header."""

from __future__ import annotations

import pytest

from fakes.indexing import ORDERS, Job, Plan, mirrored
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import QUARANTINE
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN


def test_a_checkpoint_that_was_set_back_leaves_no_record_out_without_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 3}, {ORDERS: 5}]))
    job.index(0, (ORDERS, 0, None))
    job.index(1, (ORDERS, 1, None), (ORDERS, 2, None))
    job.index(2, (ORDERS, 3, None), (ORDERS, 4, None))
    # An older copy goes on after batch 0, with other ranges; the table takes batches 1 and 2 for repetitions.
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 7}, {ORDERS: 9}, {ORDERS: 11}]), tables=job.tables)
    job.index(1, *((ORDERS, offset, None) for offset in range(1, 7)))
    job.index(2, (ORDERS, 7, None), (ORDERS, 8, None))
    job.index(3, (ORDERS, 9, None), (ORDERS, 10, None))
    index = RecordIndex(job.tables)  # type: ignore[arg-type]
    index.refresh()
    log = index.log("Y", *ORDERS)
    assert log is not None
    assert log.frontier == 11
    lacking = log.runs.take(log.runs.origin == UNKNOWN_ORIGIN)
    assert (lacking.start.tolist(), lacking.length.tolist()) == ([5], [4]), "unread by everyone"
    assert "clusters.Y: orders-0: not all of it is in the index" in caplog.text


def test_a_copy_of_what_its_origin_has_not_written_is_unread_by_everyone_and_in_quarantine() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 5}]), ends_at_x=8)
    job.index(0, *((ORDERS, at, mirrored(number)) for at, number in enumerate((5, 6, 7, 8, 1_000_000))))
    assert [run[2:] for run in job.runs() if run[3]] == [(0, 3, "X", 5), (3, 1, "", 3), (4, 1, "", 4)]
    assert job.tables.rows(QUARANTINE, "offset", "error") == [
        (3, "origin offset 8: not in the log of X, which ends at 8"),
        (4, "origin offset 1000000: not in the log of X, which ends at 8"),
    ]


def test_a_micro_batch_that_was_passed_over_is_unread_by_everyone() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 2}, {ORDERS: 5}, {ORDERS: 6}]))
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None))
    job.index(2, (ORDERS, 5, None))  # the query has failed in batch 1, and its checkpoint has moved on
    index = RecordIndex(job.tables)  # type: ignore[arg-type]
    index.refresh()
    log = index.log("Y", *ORDERS)
    assert log is not None
    lacking = log.runs.take(log.runs.origin == UNKNOWN_ORIGIN)
    assert (lacking.start.tolist(), lacking.length.tolist()) == ([2], [3])
