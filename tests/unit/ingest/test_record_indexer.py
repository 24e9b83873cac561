"""Micro-batches of headers into the index: every record once, wherever the job is killed, and never more than read."""

from __future__ import annotations

import logging

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS, TOPICS, Job, Plan, mirrored
from fakes.tables import PowerFailure
from offset_sync.model.errors import ClusterError
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import INDEXED_TOPICS, QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN


def test_malformed_headers_and_copies_of_what_is_not_written_are_unread_by_everyone_and_in_quarantine() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 6}]), ends_at_x=8)
    headers = (None, (b"IDC-X", b"x"), (b"Y", b"9"), mirrored(7), mirrored(8), mirrored(1_000_000))
    job.index(0, *((ORDERS, offset, each) for offset, each in enumerate(headers)))
    runs = [(0, 1, "Y", 0), (1, 2, "", 1), (3, 1, "X", 7), (4, 1, "", 4), (5, 1, "", 5)]
    assert [run[2:] for run in job.runs() if run[3]] == runs
    names = ("cluster", "topic", "partition", "offset", "key", "value", "error")
    assert job.tables.rows(QUARANTINE, *names) == [
        ("Y", "orders", 0, 1, b"IDC-X", b"x", "offset header is not a decimal number without sign"),
        ("Y", "orders", 0, 2, b"Y", b"9", "origin offset 9 of this very cluster is not yet written"),
        ("Y", "orders", 0, 4, None, None, "origin offset 8: not in the log of X, which ends at 8"),
        ("Y", "orders", 0, 5, None, None, "origin offset 1000000: not in the log of X, which ends at 8"),
    ]


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


# Topics that come and go


def test_a_topic_created_again_is_recorded_beside_its_first_life(caplog: pytest.LogCaptureFixture) -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 2}, {ORDERS: 3}]))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 1 << 40, leader_epoch=0)}}
    job.index(0, (ORDERS, 0, None))
    job.topics["orders"] = MemoryTopic("orders-2", 4)
    job.restart()
    with caplog.at_level(logging.ERROR):
        for batch_id in (1, 2):
            job.index(batch_id, (ORDERS, batch_id, None))
    assert job.topic_ids() == [("orders-1", 2), ("orders-2", 4)]
    assert [record.getMessage() for record in caplog.records] == [
        "clusters.Y: orders-0: topic recreated; re-reading from offset 0 on, where its records have been replaced"
    ]


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


# Checkpoints that are not believed


def unread(job: Job) -> tuple[list[int], list[int]]:
    """Return the start and length of what counts as unread by everyone."""
    index = RecordIndex(job.tables)  # type: ignore[arg-type]
    index.refresh()
    log = index.log("Y", *ORDERS)
    assert log is not None
    lacking = log.runs.take(log.runs.origin == UNKNOWN_ORIGIN)
    assert log.frontier == max(run[2] + run[3] for run in job.runs())
    return lacking.start.tolist(), lacking.length.tolist()


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
    assert unread(job) == ([5], [4])
    assert "clusters.Y: orders-0: not all of it is in the index" in caplog.text


def test_a_micro_batch_that_was_passed_over_is_unread_by_everyone() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 2}, {ORDERS: 5}, {ORDERS: 6}]))
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None))
    job.index(2, (ORDERS, 5, None))  # the query has failed in batch 1, and its checkpoint has moved on
    assert unread(job) == ([2], [3])
