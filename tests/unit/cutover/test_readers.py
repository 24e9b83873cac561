"""Whether a group's newest commit was made by a member, from what the log of commits has said of its groups."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.cutover.homes import is_of_member, members_until
from offset_sync.tables.catalog import GROUP_EVENTS

T = 1_800_000_000_000
Event = tuple[str, int | None, int]


def until(*events: Event, group: str = "g", cluster: str = "X") -> int | str | None:
    """Return when the last member left, in ms after T; "never" of a group without members."""
    rows: list[dict[str, Any]] = [
        {
            "cluster": cluster,
            "group_id": group,
            "kind": kind,
            "members": members,
            "at": datetime.fromtimestamp((T + at) / 1000, timezone.utc),
        }
        for kind, members, at in events
    ]
    found = members_until([pa.Table.from_pylist(rows, GROUP_EVENTS.arrow_schema)], "X", ["g"])
    if "g" not in found:
        return "never"
    left = found["g"]
    return None if left is None else left - T


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ([], "never"),
        ([("classic", 0, 5)], "never"),
        ([("classic", 2, 5)], None),
        ([("classic", 2, 5), ("classic", 0, 90)], 90),
        ([("classic", 0, 90), ("classic", 2, 5)], 90),
        ([("classic", 2, 5), ("classic", 0, 90), ("classic", 1, 95)], None),
        ([("member", None, 5)], None),
        ([("member", None, 5), ("epoch", None, 6), ("member_removed", None, 70), ("epoch", None, 71)], 70),
        ([("streams_member", None, 5), ("streams_member_removed", None, 70)], 70),
        ([("classic", 1, 5), ("classic_removed", None, 70)], 70),
    ],
)
def test_the_last_member_leaves_when_the_log_says_so(events: list[Event], left: int | str | None) -> None:
    assert until(*events) == left


def test_other_groups_and_clusters_say_nothing() -> None:
    assert until(("classic", 2, 5), group="h") == "never"
    assert until(("classic", 2, 5), cluster="Y") == "never"


def test_a_consumer_that_was_closed_a_moment_ago_has_committed_as_a_member() -> None:
    assert is_of_member(T + 100, None)
    assert is_of_member(T + 90, T + 100)  # it commits, then it leaves
    assert is_of_member(T + 130, T + 100)
    assert not is_of_member(T + 60_000, T + 100)
