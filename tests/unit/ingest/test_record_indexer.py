"""Micro-batches of headers into the index: every record once, wherever the job is killed, and never more than read."""

from __future__ import annotations

import logging
from datetime import datetime, timezone

import pyarrow as pa
import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS, PAY, SECOND, TOPICS, Job, Plan, mirrored
from fakes.tables import PowerFailure
from offset_sync.model.errors import ClusterError
from offset_sync.tables.catalog import INDEXED_TOPICS, QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table


def test_a_micro_batch_becomes_runs_and_the_edges_of_what_was_read() -> None:
    job = Job(Plan({ORDERS: 5, SECOND: 0}, [{ORDERS: 9, SECOND: 1}]))
    job.index(0, (ORDERS, 5, mirrored(70)), (ORDERS, 6, mirrored(71)), (ORDERS, 7, None), (SECOND, 0, None))
    assert job.runs() == [
        ("orders", 0, 5, 0, "Y", -1),
        ("orders", 0, 5, 2, "X", 70),
        ("orders", 0, 7, 1, "Y", 7),
        ("orders", 0, 9, 0, "Y", 9),
        ("orders", 1, 0, 0, "Y", -1),
        ("orders", 1, 0, 1, "Y", 0),
    ]
    assert job.topic_ids() == [("orders-1", 2)]


def test_later_batches_add_what_they_read_and_a_new_partition_begins_at_its_beginning() -> None:
    later = {ORDERS: 3, PAY: 2, SECOND: 0}
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, later, later | {ORDERS: 4}]))
    job.index(0, (ORDERS, 0, None))
    job.index(1, (ORDERS, 1, None), (ORDERS, 2, None), (PAY, 1, None))
    job.index(2)
    assert job.runs() == [
        ("orders", 0, 0, 0, "Y", -1),
        ("orders", 0, 0, 1, "Y", 0),
        ("orders", 0, 1, 0, "Y", -1),
        ("orders", 0, 1, 2, "Y", 1),
        ("orders", 0, 3, 0, "Y", -1),
        ("orders", 0, 4, 0, "Y", 4),
        ("orders", 1, 0, 0, "Y", -1),
        ("pay", 0, 0, 0, "Y", -1),
        ("pay", 0, 1, 1, "Y", 1),
    ]


def test_each_batch_says_up_to_when_its_logs_are_complete_where_that_is_known() -> None:
    job = Job(Plan({ORDERS: 0, SECOND: 0}, [{ORDERS: 1, SECOND: 1}, {ORDERS: 3, SECOND: 2}]))
    job.logs["Y"] = {ORDERS: MemoryEnds(0, 3), SECOND: MemoryEnds(0, 9)}
    began = datetime.now(timezone.utc)
    job.index(0, (ORDERS, 0, None), (SECOND, 0, None))
    between = datetime.now(timezone.utc)
    job.index(1, (ORDERS, 1, None), (ORDERS, 2, None), (SECOND, 1, None))
    said = job.tables.rows(RECORD_RUNS, "partition", "start_offset", "length", "complete_until")
    known = [(partition, start, at) for partition, start, length, at in said if at is not None and not length]
    assert len(known) == 1
    assert known[0][:2] == (0, 1)
    assert began < between < known[0][2] < datetime.now(timezone.utc)


def test_a_batch_that_reads_no_offset_of_a_partition_says_nothing_of_it() -> None:
    job = Job(Plan({ORDERS: 0, PAY: 7}, [{ORDERS: 0, PAY: 7}, {ORDERS: 1, PAY: 7}]))
    job.index(0)
    assert job.runs() == [("orders", 0, 0, 0, "Y", -1), ("pay", 0, 7, 0, "Y", -1)]
    job.index(1, (ORDERS, 0, None))
    assert [run for run in job.runs() if run[0] == "pay"] == [("pay", 0, 7, 0, "Y", -1)]


def test_a_partition_that_is_gone_is_not_written_about() -> None:
    job = Job(Plan({ORDERS: 0, PAY: 0}, [{ORDERS: 1, PAY: 0}, {ORDERS: 2}]))
    job.index(0, (ORDERS, 0, None))
    before = [run for run in job.runs() if run[0] == "pay"]
    job.index(1, (ORDERS, 1, None))
    assert [run for run in job.runs() if run[0] == "pay"] == before


def test_malformed_headers_are_kept_with_the_reason_and_their_places_are_unread_by_everyone() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 4}]))
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, (b"IDC-X", b"x")), (ORDERS, 2, (b"Y", b"9")), (ORDERS, 3, mirrored(5)))
    assert [run[2:] for run in job.runs() if run[3]] == [(0, 1, "Y", 0), (1, 2, "", 1), (3, 1, "X", 5)]
    names = ("cluster", "topic", "partition", "offset", "key", "value", "error")
    assert job.tables.rows(QUARANTINE, *names) == [
        ("Y", "orders", 0, 1, b"IDC-X", b"x", "offset header is not a decimal number without sign"),
        ("Y", "orders", 0, 2, b"Y", b"9", "origin offset 9 of this very cluster is not yet written"),
    ]


# Once, whatever happens


def test_a_repeated_batch_is_written_once_by_any_driver() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 3}]))
    records = [(ORDERS, 0, None), (ORDERS, 1, (b"", b"1"))]
    job.index(0, *records)
    before = job.runs()
    job.index(0, *records)
    job.restart()
    job.index(0, *records)
    assert job.runs() == before
    assert job.tables.rows(QUARANTINE, "offset") == [(1,)]
    assert job.topic_ids() == [("orders-1", 2)]


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
    job.restart()
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


def test_the_topics_of_another_cluster_are_no_concern() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}]))
    row = {"cluster": "X", "topic": "orders", "topic_id": "orders-1", "partitions": 2}
    job.tables.append(INDEXED_TOPICS, pa.Table.from_pylist([row], INDEXED_TOPICS.arrow_schema))
    job.index(0, (ORDERS, 0, None))
    assert job.tables.rows(INDEXED_TOPICS, "cluster", "topic_id") == [("X", "orders-1"), ("Y", "orders-1")]


def test_a_topic_deleted_before_its_first_query_has_an_incarnation_that_cannot_return() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 2}]))
    orders = job.topics.pop("orders")
    job.index(0, (ORDERS, 0, None))
    job.topics["orders"] = orders
    job.index(1, (ORDERS, 1, None))
    assert job.topic_ids() == [("", None), ("orders-1", 2)]


def test_a_known_topic_that_is_gone_for_a_while_is_nothing_new() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 2}]))
    job.index(0, (ORDERS, 0, None))
    del job.topics["orders"]
    job.index(1, (ORDERS, 1, None))
    assert job.topic_ids() == [("orders-1", 2)]


def test_a_topic_that_may_not_be_described_is_not_indexed_as_one_that_is_gone() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 2}]))
    job.topics["orders"] = ClusterError("Y", "topic orders may not be described")  # type: ignore[assignment]
    with pytest.raises(ClusterError, match="topic orders may not be described"):
        job.index(0, (ORDERS, 0, None))
    assert (job.runs(), job.topic_ids()) == ([], [])
    refused, job.topics["orders"] = job.topics["orders"], TOPICS["orders"]
    job.index(0, (ORDERS, 0, None))
    job.topics["orders"] = refused  # it is known by now, and who reads the index asks for its id
    job.index(1, (ORDERS, 1, None))
    assert job.topic_ids() == [("orders-1", 2)]


def test_a_cluster_that_cannot_be_asked_stops_the_batch_before_anything_is_written() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}]), is_silent=True)
    with pytest.raises(OSError, match="no brokers"):
        job.index(0, (ORDERS, 0, None))
    assert (job.runs(), job.topic_ids()) == ([], [])
