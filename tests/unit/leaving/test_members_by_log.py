"""Who has members now: what coordinators say, and what logs say beside it."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.tables import MemoryTables
from leaving.group_events import JOINED, LEFT, rows
from offset_sync.model.errors import ClusterError
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.groups_by_log import GroupsByLog, Members
from offset_sync.tables.catalog import GROUP_EVENTS


class Coordinators:
    """Answers with *groups*, or why it does not."""

    def __init__(self, *groups: str) -> None:
        self.answer: frozenset[str] | ClusterError = frozenset(groups)
        self.deadlines: list[float] = []

    def active(self, deadline: float) -> frozenset[str] | ClusterError:
        self.deadlines.append(deadline)
        return self.answer


@pytest.fixture
def by_log() -> GroupsByLog:
    tables: Any = MemoryTables()
    tables.append(GROUP_EVENTS, rows(*JOINED, group="streams-app"))
    return GroupsByLog(tables, CommitLogIncarnations(tables), ["X", "Y"])


def test_members_are_those_that_coordinators_and_logs_name(by_log: GroupsByLog) -> None:
    members = Members({"X": Coordinators("a"), "Y": Coordinators()}, by_log)
    assert (members.of("X"), members.of("Y")) == (None, None), "not asked yet"
    members.refresh()
    assert (members.of("X"), members.of("Y")) == ({"a", "streams-app"}, frozenset())
    by_log._tables.append(GROUP_EVENTS, rows(*LEFT, group="streams-app", first=3))
    members.refresh()
    assert members.of("X") == {"a"}


def test_share_groups_are_named_and_have_no_members_that_could_commit(by_log: GroupsByLog) -> None:
    by_log._tables.append(GROUP_EVENTS, rows(("share", None), ("share_member", "m"), group="shared", first=3))
    members = Members({"X": Coordinators("a"), "Y": Coordinators()}, by_log)
    members.refresh()
    assert members.of("X") == {"a", "streams-app"}
    assert (members.share_groups("X"), members.share_groups("Y")) == ({"shared"}, frozenset())
