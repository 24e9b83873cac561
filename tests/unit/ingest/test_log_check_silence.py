"""Leaders that are silent when the index asks about what it has read: who waits for them, and who does not."""

from __future__ import annotations

import threading
from collections.abc import Collection

import pytest

from fakes.clusters import MemoryEnds
from fakes.indexing import ORDERS, SECOND, Job, Plan, mirrored
from offset_sync.model.errors import ClusterError, OtherClusterError
from offset_sync.model.values import ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata


def test_what_was_read_of_a_log_whose_leader_is_silent_since_is_not_written_down() -> None:
    """It may be of another life: the micro-batch comes again."""
    job = Job(Plan({ORDERS: 0, SECOND: 0}, [{ORDERS: 2, SECOND: 2}]), without_ends={SECOND})
    with pytest.raises(ClusterError, match="no answer about orders-1, which was read"):
        job.index(0, (ORDERS, 0, None), (ORDERS, 1, None), (SECOND, 0, None), (SECOND, 1, None))
    assert job.runs() == []
    job.without_ends.clear()
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None), (SECOND, 0, None), (SECOND, 1, None))
    assert {run[:4] for run in job.runs() if run[3]} == {("orders", 0, 0, 2), ("orders", 1, 0, 2)}


def test_what_new_clients_would_read_elsewhere_is_not_written_down() -> None:
    """Spark's do not compare the id of the cluster with their answers."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}]))
    logs = job.indexer._checks.logs

    def led_elsewhere() -> None:
        raise OtherClusterError("Y", "its id is id-2 and was id-1")

    logs._asked = logs._asked._replace(verify=led_elsewhere)
    with pytest.raises(OtherClusterError):
        job.index(0, (ORDERS, 0, None))
    assert job.runs() == []


def test_a_log_of_which_nothing_was_read_may_be_silent() -> None:
    job = Job(Plan({ORDERS: 0, SECOND: 5}, [{ORDERS: 2, SECOND: 5}]), without_ends={SECOND})
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None))
    assert ("orders", 0, 0, 2) in {run[:4] for run in job.runs()}


def test_the_cluster_and_the_origins_of_its_copies_are_asked_side_by_side() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 2}]))
    job.index(0, (ORDERS, 0, mirrored(3)))  # before a log is read for the first time its own cluster is asked
    both, answer = threading.Barrier(2, timeout=10), job.fetch_each

    def asked(wanted: dict[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata]:
        both.wait()  # broken where one waits for the other's answer
        return answer(wanted)

    job.fetch_each = asked  # type: ignore[method-assign]
    job.index(1, (ORDERS, 1, mirrored(5)))
    assert ("orders", 0, 1, 1, "X", 5) in job.runs()


def test_a_leader_that_does_not_say_where_an_epoch_ended_holds_up_no_other_cluster() -> None:
    job = Job(Plan({}, []))
    said = {
        alias: {alias: ClusterMetadata(job.topics, {TopicPartition(*ORDERS): MemoryEnds(0, 9, leader_epoch=1)})}
        for alias in ("X", "Y")
    }
    elected = {"X": ClusterMetadata(job.topics, {TopicPartition(*ORDERS): MemoryEnds(0, 9, leader_epoch=2)})}
    is_asked, goes_on = threading.Event(), threading.Event()

    def silent(epochs: dict[TopicPartition, int]) -> dict[TopicPartition, ReportedEnd]:
        is_asked.set()
        assert goes_on.wait(30)
        return dict.fromkeys(epochs, ReportedEnd(9))

    check = job.incarnations
    check.note(said["X"], {}, check.moment())
    job.ends = silent  # type: ignore[method-assign]
    waiting = threading.Thread(target=check.note, args=(elected, {}, check.moment()), daemon=True)
    waiting.start()
    assert is_asked.wait(10)
    other = threading.Thread(target=check.note, args=(said["Y"], {}, check.moment()), daemon=True)
    other.start()
    other.join(10)
    assert (other.is_alive(), waiting.is_alive()) == (False, True)
    goes_on.set()
    waiting.join(10)
