"""Micro-batches of headers into the index: every record once, wherever the job is killed, and never more than read."""

from __future__ import annotations

import pytest

from fakes.indexing import ORDERS, TOPICS, Job, Plan, mirrored
from fakes.tables import PowerFailure
from offset_sync.model.errors import ClusterError
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import INDEXED_TOPICS, QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN


def test_malformed_headers_and_copies_of_what_is_not_written_are_unread_by_everyone_and_in_quarantine() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 5}]), ends_at_x=8)
    headers = (None, (b"IDC-X", b"x"), (b"Y", b"9"), mirrored(7), mirrored(8))
    job.index(0, *((ORDERS, offset, each) for offset, each in enumerate(headers)))
    runs = [(0, 1, "Y", 0), (1, 2, "", 1), (3, 1, "X", 7), (4, 1, "", 4)]
    assert [run[2:] for run in job.runs() if run[3]] == runs
    assert job.tables.rows(QUARANTINE, "cluster", "topic", "partition", "offset", "key", "value", "error") == [
        ("Y", "orders", 0, 1, b"IDC-X", b"x", "offset header is not a decimal number without sign"),
        ("Y", "orders", 0, 2, b"Y", b"9", "origin offset 9 of this very cluster is not yet written"),
        ("Y", "orders", 0, 4, None, None, "origin offset 8: not in the log of X, which ends at 8"),
    ]


def test_a_new_checkpoint_writes_again() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}]))
    job.index(0, (ORDERS, 0, None))
    job.plan.query = "another"
    job.index(0, (ORDERS, 0, None))
    assert job.runs() == [("orders", 0, 0, 0, "Y", -1)] * 2 + [("orders", 0, 0, 1, "Y", 0)] * 2


@pytest.mark.parametrize("table", [INDEXED_TOPICS, QUARANTINE, RECORD_RUNS], ids=lambda table: table.name)
def test_killed_at_any_point_and_repeated_everything_is_there_once(table: Table) -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 3}]))
    records = [(ORDERS, 0, None), (ORDERS, 1, (b"", b"1"))]
    job.tables.dies_at = table
    with pytest.raises(PowerFailure):
        job.index(0, *records)
    assert job.runs() == []
    assert job.topic_ids() == ([] if table is INDEXED_TOPICS else [("orders-1", 2)])  # never a run without its id
    for _ in range(2):
        job.restart()
        job.index(0, *records)
        job.index(0, *records)
    assert [run[2:5] for run in job.runs()] == [(0, 0, "Y"), (0, 1, "Y"), (1, 1, ""), (3, 0, "Y")]
    assert job.tables.rows(QUARANTINE, "offset") == [(1,)]
    assert job.topic_ids() == [("orders-1", 2)]


def test_a_topic_that_may_not_be_described_is_not_indexed_as_one_that_is_gone() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 2}]))
    job.topics["orders"] = refused = ClusterError("Y", "orders may not be described")  # type: ignore[assignment]
    with pytest.raises(ClusterError, match="may not be described"):
        job.index(0, (ORDERS, 0, None))
    assert (job.runs(), job.topic_ids()) == ([], [])
    job.topics["orders"] = TOPICS["orders"]
    job.index(0, (ORDERS, 0, None))
    job.topics["orders"] = refused  # type: ignore[assignment]
    job.index(1, (ORDERS, 1, None))  # it is known by now, and readers of the index query its id
    assert job.topic_ids() == [("orders-1", 2)]


def test_a_micro_batch_that_was_passed_over_is_unread_by_everyone() -> None:
    """By a query that has failed, or by a checkpoint that was set back: the table takes what comes for a repetition."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 2}, {ORDERS: 5}, {ORDERS: 6}]))
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None))
    job.index(2, (ORDERS, 5, None))  # the query has failed in batch 1, and its checkpoint has moved on
    index = RecordIndex(job.tables)  # type: ignore[arg-type]
    index.refresh()
    log = index.log("Y", *ORDERS)
    assert log is not None
    lacking = log.runs.take(log.runs.origin == UNKNOWN_ORIGIN)
    assert (lacking.start.tolist(), lacking.length.tolist(), log.frontier) == ([2], [3], 6)
