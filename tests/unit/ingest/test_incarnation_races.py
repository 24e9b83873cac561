"""Queries of one driver that ask about the same logs at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.tables import MemoryTables
from offset_sync.ingest.incarnation_check import IncarnationCheck, OvertakenError
from offset_sync.model.values import ClusterPartition, EpochChange, OffsetRange, ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.tables.catalog import LOG_INCARNATIONS

FIRST, LAST = TopicPartition("orders", 0), TopicPartition("orders", 1)
OLD_END = 10


class Leaders:
    """Their first epoch ends at 10; *meanwhile* happens while they are asked."""

    def __init__(self) -> None:
        self.meanwhile: list[Callable[[], object]] = []

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        if self.meanwhile:
            self.meanwhile.pop()()
        return dict.fromkeys(epochs, ReportedEnd(OLD_END))


class Queries:
    """What the queries of one driver share."""

    def __init__(self) -> None:
        self.leaders, self.tables = Leaders(), MemoryTables()
        self.check = IncarnationCheck(self.tables, {"Y": self.leaders}, dict)  # type: ignore[arg-type]

    def note(self, leader_epoch: int, **log_ends: int) -> None:
        """Note what Y says of its logs; up to 10 each was indexed before."""
        places = {FIRST: log_ends.get("first"), LAST: log_ends.get("last")}
        ends = {
            place: MemoryEnds(0, end, leader_epoch=leader_epoch) for place, end in places.items() if end is not None
        }
        said: dict[str, Any] = {"Y": ClusterMetadata({"orders": MemoryTopic("id")}, ends)}
        plans = {ClusterPartition("Y", *place): OffsetRange(OLD_END, OLD_END) for place in ends}
        self.check.note(said, plans, self.check.moment())

    def reasons(self) -> set[str | None]:
        """Return why lives have begun, None where they have not."""
        return {reason for (reason,) in self.tables.rows(LOG_INCARNATIONS, "reason")}


def test_two_queries_that_ask_about_a_new_leader_at_once_find_no_cut() -> None:
    """The one that is answered last knows by then how far the log reaches under the new leader."""
    queries = Queries()
    queries.note(1, first=10)
    queries.leaders.meanwhile.append(lambda: queries.note(2, first=15))
    with pytest.raises(OvertakenError):
        queries.note(2, first=12)
    queries.note(2, first=16)
    assert queries.reasons() == {None, "ELECTED"}


@pytest.mark.parametrize(
    ("indexed_under_the_old_leader", "reasons"), [(10, {None, "ELECTED"}), (12, {None, "ELECTED", "LOG_TRUNCATED"})]
)
def test_one_that_is_refused_leaves_nothing_behind_of_the_logs_that_it_had_looked_at_already(
    indexed_under_the_old_leader: int, reasons: set[str | None]
) -> None:
    """How far the first log reaches under its new leader would pass for what the old one had when it comes again."""
    queries = Queries()
    queries.note(1, first=indexed_under_the_old_leader, last=10)
    queries.leaders.meanwhile.append(lambda: queries.note(2, last=15))
    with pytest.raises(OvertakenError):
        queries.note(2, first=13, last=12)
    queries.note(2, first=14, last=16)
    assert queries.reasons() == reasons
