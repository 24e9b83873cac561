"""Lists of groups that are no longer maintained: not named, not included, gone to the other cluster."""

from __future__ import annotations

from builders.logs import log
from fakes.read_list_site import EPOCH, listed_site, told
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.values import ClusterPartition
from offset_sync.state.group_homes import Move
from offset_sync.state.last_known import to_rows
from offset_sync.state.restore import fill_commits


def next_driver(before: Site, named: list[str], **sections: object) -> Site:
    """Return a driver with another configuration, which knows what the one *before* has read."""
    before.read_all()
    lists = {"read_lists": {"groups": named}, "refresh_interval": "1h"}
    found = Site(config_of([*before.clusters], sync=lists, **sections), clock_ms=before.clock_ms, index=before.index)
    found.clusters = before.clusters
    found.restart()
    fill_commits(found.state, to_rows(before.offsets), found.clusters, is_all=True)
    found.position = before.position
    return found


def test_the_list_of_a_group_that_is_not_named_any_more_is_taken_away_where_all_groups_have_gone() -> None:
    site = listed_site()
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])
    then = next_driver(site, named=[])
    then.state.homes.note_moves([Move("readers", "orders", "Y", then.clock_ms[0])])
    then.reconcile(is_first=True)
    then.reconcile()
    assert told(then) == (0, [])  # else the group is reset to 3 at Y, and starts at 5


def test_the_list_of_a_group_that_is_excluded_is_taken_away() -> None:
    site = listed_site()
    site.commit("X", "others", 1)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])
    then = next_driver(site, named=["readers"], groups={"exclude": ["readers"]})
    then.reconcile(is_first=True)
    then.reconcile()
    assert told(then) == (0, [])


def test_the_list_of_a_group_that_went_back_is_taken_away_also_where_one_direction_is_synced() -> None:
    lists = {"read_lists": {"groups": ["readers"]}, "refresh_interval": "1h"}
    site = Site(config_of(["X", "Y"], directions=[["X", "Y"]], sync=lists))
    site.put(log("X", "X0 X1 Y0 X2 X3 X4"))
    site.put(log("Y", "Y0 X0 Y1 X1 X2"))
    site.index.epochs[ClusterPartition("Y", *ORDERS)] = ("orders at Y", EPOCH)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])
    for offset in (4, 2):  # moved by hand, and reset at Y to read X1 and X2 again
        site.commit("Y", "readers", offset)
        site.reconcile()
    assert told(site) == (0, [])


def test_the_list_of_a_group_that_is_not_named_any_more_is_taken_away_while_one_is_at_home_at_the_source() -> None:
    site = listed_site()
    site.commit("X", "readers", 4)
    site.reconcile()
    then = next_driver(site, named=[])
    then.reconcile(is_first=True)
    assert told(then) == (0, [])
