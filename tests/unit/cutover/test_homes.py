"""Naming the source of a move decides where two clusters are in question; who made a newest commit: a member or not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.cutover.homes import decide_homes, members_until
from offset_sync.cutover.plan import Direction
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_clock import to_datetime
from offset_sync.state.group_homes import Move
from offset_sync.tables.catalog import GROUP_EVENTS


def two_clusters() -> Site:
    site = Site(config_of(["X", "Y"], sync={"home_silence": "5m"}))
    for alias in "XY":
        site.put(log(alias, "X0:10"))
    return site


def home(site: Site) -> tuple[str, bool]:
    found = site.state.homes_of(site.state.all_rows())
    return list(site.clusters)[int(found.home[0])], bool(found.is_contested[0])


def decided(site: Site, source: str, target: str) -> dict[tuple[str, str], str]:
    return decide_homes(site.state, Direction(source, target), site.state.all_rows())


def test_either_of_two_clusters_that_commit_may_be_named() -> None:
    for source, target in (("X", "Y"), ("Y", "X")):
        site = two_clusters()
        for alias, offset in (("X", 5), ("Y", 3)):
            site.commit(alias, "g", offset)
            site.pass_time(1_000)
        site.read_all()
        assert home(site)[1]
        found = decided(site, source, target)
        assert home(site) == (source, False)
        assert found["g", "orders"].startswith("committed at both Y (3) and X (5) ")


@pytest.mark.parametrize(("held", "read", "then"), [(None, None, "X"), (5, None, "X"), (None, 7, "Y")])
def test_a_group_that_was_moved_may_be_moved_and_verified_again_until_it_goes_on_at_the_target(
    held: int | None, read: int | None, then: str
) -> None:
    site = two_clusters()
    site.commit("X", "g", 5)
    site.pass_time(1_000)
    if held is not None:
        site.commit("Y", "g", held)  # of the move itself
    site.read_all()
    site.state.homes.note_moves([Move("g", "orders", "Y", site.clock_ms[0] + 50)])
    site.pass_time(10_000)
    assert home(site) == ("Y", False)
    if read is not None:
        site.commit("Y", "g", read)
        site.read_all()
    assert decided(site, "X", "Y") == {}
    assert home(site) == (then, False)


@pytest.mark.parametrize(("last", "then"), [("commit", "Y"), ("write_as_we_do", "X")])
def test_soon_after_a_move_the_group_goes_on_at_the_target_where_that_log_ends_with_a_commit_of_its_own(
    last: str, then: str
) -> None:
    """By clocks that differ, one within two seconds of a move may be from before it."""
    site = two_clusters()
    for place in (ORDERS, TopicPartition("orders", 1)):  # it does not go on in both
        site.commit("X", "g", 5, place)
        site.write_as_we_do("Y", "g", 5, place)
    site.read_all()
    site.state.homes.note_moves([Move("g", "orders", "Y", site.clock_ms[0] + 50)])
    site.pass_time(500)
    site.commit("Y", "g", 6)
    getattr(site, last)("Y", "g", 7)
    site.read_all()
    decided(site, "X", "Y")
    assert home(site) == (then, False)


Event = tuple[str, int | None, int]


def until(*events: Event, group: str = "g", cluster: str = "X") -> dict[str, int | None]:
    """Return when the last member left."""
    of_group = {"cluster": cluster, "group_id": group}
    rows = [of_group | {"kind": kind, "members": members, "at": to_datetime(at_ms)} for kind, members, at_ms in events]
    return members_until([pa.Table.from_pylist(rows, GROUP_EVENTS.arrow_schema)], "X", ["g"])


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ([("classic", 0, 5)], {}),
        ([("classic", 2, 5)], {"g": None}),
        ([("classic", 2, 5), ("classic", 0, 90), ("classic", 1, 95)], {"g": None}),
        ([("member", None, 5), ("epoch", None, 6), ("member_removed", None, 70), ("epoch", None, 71)], {"g": 70}),
        ([("classic", 1, 5), ("classic_removed", None, 70)], {"g": 70}),
    ],
)
def test_the_last_member_leaves_when_the_log_says_so(events: list[Event], left: dict[str, int | None]) -> None:
    assert until(*events) == left
    assert until(*events, group="h") == until(*events, cluster="Y") == {}, "others say nothing"
