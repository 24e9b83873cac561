"""Who has members now, as coordinators say."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from fakes.tables import MemoryTables
from offset_sync.model.errors import ClusterError
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.groups_by_log import GroupsByLog, Members

MEETING = threading.Barrier(2)


class Coordinators:
    """Answers with *groups*, or why it does not, once both clusters have been asked."""

    def __init__(self, *groups: str) -> None:
        self.answer: frozenset[str] | ClusterError = frozenset(groups)

    def active(self, deadline: float) -> frozenset[str] | ClusterError:
        assert deadline == 3.0
        MEETING.wait(30)
        return self.answer


def test_of_a_cluster_that_stops_answering_nothing_is_known_and_this_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tables: Any = MemoryTables()
    x = Coordinators("a")
    by_log = GroupsByLog(tables, CommitLogIncarnations(tables), ["X", "Y", "Z"])
    members = Members({"X": x, "Y": Coordinators("b")}, by_log, deadline=3.0)
    assert (members.of("X"), members.of("Y")) == (None, None), "not asked yet"
    members.refresh()
    assert (members.of("X"), members.of("Y"), members.of("Z")) == ({"a"}, {"b"}, None)
    x.answer = ClusterError("X", "no answer")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            members.refresh()
    assert (members.of("X"), members.of("Y")) == (None, {"b"})
    assert [record.getMessage() for record in caplog.records] == [str(x.answer)]
    x.answer = frozenset({"c"})
    members.refresh()
    assert members.of("X") == {"c"}
