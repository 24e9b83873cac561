"""Reports by one reporter, on groups at two homes, and on groups that skip by a list."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import GroupOffset
from fakes.read_list_site import HOLDS, listed_site, told
from fakes.reconciler_site import ORDERS, config_of
from fakes.second_writer import Command
from fakes.status_site import StatusSite, status_site
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import TopicPartition
from offset_sync.state.group_homes import Move
from offset_sync.state.held_positions import take_in_untold

PAY = TopicPartition("pay-in", 0)


def is_moved_here(site: StatusSite) -> None:
    """A command has set the position at X."""
    site.state.homes.note_moves([Move("readers", "orders", "X", site.clock_ms[0])])


def is_back_elsewhere(site: StatusSite) -> None:
    """The group reads at Y, goes back there, and commits at X just after."""
    for alias, offset in (("Y", 3), ("Y", 1), ("X", 4)):
        site.commit(alias, "readers", offset)


def is_committed_at_both(site: StatusSite) -> None:
    """Two clusters are active at once."""
    site.state.homes.silence_ms = 300_000
    site.commit("Y", "readers", 5)
    site.commit("X", "readers", 4)


@pytest.mark.parametrize("happens", [is_moved_here, is_back_elsewhere, is_committed_at_both])
def test_a_list_that_sync_offsets_has_emptied_is_promised_by_no_report(happens: Callable[[StatusSite], None]) -> None:
    site = listed_site(kind=StatusSite)
    site.commit("X", "readers", 4)
    site.reconciled()
    assert listed(site) == 2
    happens(site)
    for _ in range(3):
        site.reconcile()
    assert told(site) == (0, [])
    assert listed(site) == 0


def listed(site: StatusSite) -> int:
    """Return how many records a report says are on the list of the group readers at Y."""
    (found,) = (row["listed"] for row in site.reported(0) if row["target_cluster"] == "Y")
    return int(found)


def test_excluded_groups_topics_and_directions_are_not_reported() -> None:
    site = status_site(
        "X0:10",
        "X0:10",
        groups={"include": [".*"], "exclude": ["b"]},
        directions=[["X", "Y"]],
        topics={"include": ["orders", "pay-.*"], "overrides": [{"topics": ["pay-.*"], "strategy": "off"}]},
    )
    for group in "abc":
        site.commit("X", group, 4)
    site.commit("X", "a", 2, PAY)
    site.commit("Y", "c", 4)
    assert [(row["group_id"], row["topic"]) for row in site.report()] == [("a", "orders")]


@pytest.mark.parametrize(("held", "home"), [({"X": 5}, "X"), ({"Y": 3}, "Y"), ({"X": 5, "Y": 3}, None)])
def test_what_coordinators_hold_and_no_table_has_is_at_home_there_and_at_two_of_them_of_any_age(
    held: dict[str, int], home: str | None
) -> None:
    site = StatusSite(config_of(["X", "Y"], sync={"home_silence": "5m"}))
    silent = {"other": ClusterError("X", "no answer")}
    take_in_untold(
        site.state, {alias: {"g": {ORDERS: GroupOffset(offset, "")}, **silent} for alias, offset in held.items()}
    )
    rows = site.state.all_rows()
    homes = site.state.homes_of(rows)
    assert [key.group_id for key in site.state.offsets.keys] == ["g"]
    assert homes.is_contested.tolist() == [home is None]
    assert home is None or site.state.rows_of(home, rows).tolist() == rows.tolist()
    for alias, offset in held.items():
        assert site.state.offsets.clusters[alias].position(rows)[0].tolist() == [offset]


SKIPS = ("Mirroring", Reason.STILL_SKIPS(8, "Y"))


@pytest.fixture
def site() -> StatusSite:
    """Moved from 6 at X to 4 at Y, with X3 and X5 on the list."""
    found = listed_site(kind=StatusSite, at_x="X0 X1 Y0 X3 Y3 X5 X6 Y4 Y6", at_y="Y0 X0 X1 Y3 Y4 X3 Y6 X5 X6")
    found.commit("X", "readers", 6)
    found.reconcile()
    assert (found.target_offset("Y", "readers"), told(found)) == (4, (4, [(5, 6), (7, 8)]))
    Command(found, "X", "Y").move()
    found.reconcile()
    return found


@pytest.mark.parametrize(("committed", "repeated"), [(4, 0), (5, 1), (6, 1), (7, 2)])
def test_what_is_on_the_list_at_its_home_is_not_unread(site: StatusSite, committed: int, repeated: int) -> None:
    if committed > 4:
        site.commit("Y", "readers", committed)
        site.reconcile()
    assert (site.said("Y", "X", "readers"), site.target_offset("X", "readers")) == (SKIPS, 6)
    row = site.row("Y", "X", "readers")
    assert (row["lost"], row["duplicates"]) == (0, repeated)


def test_where_the_list_is_not_known_its_records_count_as_unread_and_nothing_is_in_sync(site: StatusSite) -> None:
    site.refusing[HOLDS] = ClusterError("Y", "does not answer")
    assert site.said("Y", "X", "readers") == ("Behind", Reason.TARGET_AHEAD(2))
    site.commit("Y", "readers", 9)
    site.reconciled()
    assert site.said("Y", "X", "readers") == ("Mirroring", Reason.LISTS_SILENT("Y"))


@pytest.mark.parametrize("partitions", [1, 4])
def test_what_has_no_offset_at_either_cluster_is_named(partitions: int) -> None:
    site = status_site("X0:10", "X0:10")
    for alias in "XY":
        site.put(log(alias, "X0:10"), partitions=partitions)
    site.commit("X", "g", 4)
    assert site.row()["uncommitted"] == (None if partitions == 1 else "1-3")
    if partitions > 1:
        site.clusters["Y"].group_offsets["g", TopicPartition("orders", 2)] = GroupOffset(0, "")
        assert site.row()["uncommitted"] == "1, 3"
