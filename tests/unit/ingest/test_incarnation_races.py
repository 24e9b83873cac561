"""Queries of one driver that ask about the same logs at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import ORDERS
from fakes.tables import MemoryTables
from offset_sync.ingest.incarnation_check import IncarnationCheck, OvertakenError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.tables.catalog import LOG_INCARNATIONS


def test_two_queries_that_ask_about_a_new_leader_at_once_find_no_cut() -> None:
    """The one that is answered last knows by then how far the log reaches under the new leader."""
    log, tables = ClusterPartition("Y", *ORDERS), MemoryTables()
    meanwhile: list[Callable[[], object]] = []

    def said(leader_epoch: int, log_end: int) -> dict[str, Any]:
        ends = {TopicPartition(*ORDERS): MemoryEnds(0, log_end, leader_epoch=leader_epoch)}
        return {"Y": ClusterMetadata({"orders": MemoryTopic("id")}, ends)}

    class Leaders:
        def ends(self, epochs: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
            if meanwhile:
                meanwhile.pop()()
            return dict.fromkeys(epochs, 10)

    check = IncarnationCheck(tables, {"Y": Leaders()}, dict)  # type: ignore[arg-type]
    check.note(said(1, 10), {log: 10}, check.moment())
    meanwhile.append(lambda: check.note(said(2, 15), {log: 10}, check.moment()))
    with pytest.raises(OvertakenError):
        check.note(said(2, 12), {log: 10}, check.moment())
    check.note(said(2, 16), {log: 10}, check.moment())
    assert {reason for (reason,) in tables.rows(LOG_INCARNATIONS, "reason")} == {None}
