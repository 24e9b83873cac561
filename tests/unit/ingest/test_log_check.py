"""Leaders that lost what was read or are silent when the clusters are asked; and queries that ask side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS, SECOND, Job, Plan, mirrored
from fakes.tables import MemoryTables
from offset_sync.ingest.incarnation_check import IncarnationCheck, OvertakenError
from offset_sync.model.errors import ClusterError, OtherClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, OffsetRange, ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.tables.catalog import LOG_INCARNATIONS


def records(job: Job, first: int = 0) -> list[tuple[Any, ...]]:
    """Return what is indexed of records from *first* on: start, length, origin and start there."""
    return [run[2:] for run in job.runs() if run[2] >= first and run[3]]


# Leaders that have lost what was read


def elected_job() -> Job:
    """Return a job that has indexed ten records; then another leader has them all, and two that are its own."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 10}, {ORDERS: 12}, {ORDERS: 13}]))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 10, leader_epoch=1)}}
    job.index(0, *((ORDERS, offset, None) for offset in range(10)))
    job.logs = {"Y": {ORDERS: MemoryEnds(0, 13, leader_epoch=2)}}
    job.epoch_ends = {ORDERS: 10}
    job.read_again = [(ORDERS, offset, mirrored(offset + 100)) for offset in range(10, 13)]
    return job


@pytest.mark.parametrize("is_restarted", [False, True])
def test_records_that_a_leader_lost_after_they_were_read_are_not_those_of_the_next_one(is_restarted: bool) -> None:
    """Nothing that was indexed is lost, so no incarnation begins; records of this micro-batch are another matter."""
    job = elected_job()
    if is_restarted:  # the leader that was written down is compared with
        job.restart()
    job.index(1, (ORDERS, 10, None), (ORDERS, 11, None))
    assert records(job, 10) == [(10, 2, "X", 110)]
    assert not job.tables.rows(LOG_INCARNATIONS, "reason").count(("READ_AGAIN",))
    job.read_again = []  # what was read under the new leader is read once
    job.index(2, (ORDERS, 12, mirrored(112)))
    assert records(job, 12) == [(12, 1, "X", 112)]


# Leaders that are silent, and clusters that are another


def test_what_was_read_of_a_log_whose_leader_is_silent_since_is_not_written_down() -> None:
    """It may be of another incarnation: the micro-batch comes again. A log of which nothing was read may be silent."""
    job = Job(Plan({ORDERS: 0, SECOND: 0}, [{ORDERS: 2, SECOND: 0}, {ORDERS: 3, SECOND: 2}]), without_ends={SECOND})
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None))
    later = ((ORDERS, 2, None), (SECOND, 0, None), (SECOND, 1, None))
    with pytest.raises(ClusterError, match="no answer about orders-1, which was read"):
        job.index(1, *later)
    assert records(job) == [(0, 2, "Y", 0)]
    job.without_ends.clear()
    job.index(1, *later)
    assert records(job) == [(0, 2, "Y", 0), (2, 1, "Y", 2), (0, 2, "Y", 0)]


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


# Queries of one driver that ask about the same logs at the same time

FIRST, LAST = TopicPartition("orders", 0), TopicPartition("orders", 1)
OLD_END = 10


class Queries:
    """What the queries of one driver share; the first epoch of each log ends at 10, *meanwhile* leaders are asked."""

    def __init__(self) -> None:
        self.meanwhile, self.tables = list[Callable[[], object]](), MemoryTables()
        tables: Any = self.tables
        self.check = IncarnationCheck(tables, dict.fromkeys(("X", "Y"), self), dict)

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        if self.meanwhile:
            self.meanwhile.pop()()
        return dict.fromkeys(epochs, ReportedEnd(OLD_END))

    def note(self, leader_epoch: int, alias: str = "Y", **log_ends: int) -> None:
        """Note what a cluster says of its logs; up to 10 each was indexed before."""
        places = {FIRST: log_ends.get("first"), LAST: log_ends.get("last")}
        ends = {
            place: MemoryEnds(0, end, leader_epoch=leader_epoch) for place, end in places.items() if end is not None
        }
        said: dict[str, Any] = {alias: ClusterMetadata({"orders": MemoryTopic("id")}, ends)}
        plans = {ClusterPartition(alias, *place): OffsetRange(OLD_END, OLD_END) for place in ends}
        self.check.note(said, plans, self.check.moment())

    def reasons(self) -> set[str | None]:
        """Return why lives have begun, None where they have not."""
        return {reason for (reason,) in self.tables.rows(LOG_INCARNATIONS, "reason")}


def test_two_queries_that_ask_about_a_new_leader_at_once_find_no_cut() -> None:
    """The one that is answered last knows by then how far the log reaches under the new leader."""
    queries = Queries()
    queries.note(1, first=10)
    queries.meanwhile.append(lambda: queries.note(2, first=15))
    with pytest.raises(OvertakenError):
        queries.note(2, first=12)
    queries.note(2, first=16)
    assert queries.reasons() == {None, "ELECTED"}


def test_a_leader_that_does_not_say_where_an_epoch_ended_delays_no_other_cluster() -> None:
    queries, other = Queries(), list[bool]()
    queries.note(1, first=10)

    def silent() -> None:
        asked = threading.Thread(target=queries.note, args=(1, "X"), kwargs={"first": 9}, daemon=True)
        asked.start()
        asked.join(10)
        other.append(asked.is_alive())
        raise ClusterError("Y", "no answer")

    queries.meanwhile.append(silent)
    with pytest.raises(ClusterError, match="no answer"):
        queries.note(2, first=12)
    assert (other, queries.reasons()) == ([False], {None}), "nothing is noted of it before it answers"
