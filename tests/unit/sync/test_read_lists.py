"""Read lists beside the answers: written first, kept up, taken away, also those that others have written."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.next_driver import begin_again_by_the_tables
from fakes.read_list_site import AT_Y, EPOCH, HOLDS, listed_site, told, writes
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, POLLED, ClusterPartition, TopicPartition
from offset_sync.state.group_homes import Move


@pytest.fixture
def site() -> Site:
    """X and Y, as in ``fakes.read_list_site``."""
    return listed_site()


def grow(site: Site) -> None:
    site.index.grown.add(ORDERS)
    site.reconciler.reconcile_waiting_for_index()
    site.wait()


def test_a_list_grows_with_the_targets_index_without_commits(site: Site) -> None:
    site.commit("X", "readers", 6)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])
    site.put(log("Y", AT_Y + " Y2 X3"))
    grow(site)
    assert told(site) == (2, [(3, 5), (6, 7)])
    site.put(log("Y", AT_Y + " Y2 X3 X4"))
    grow(site)
    assert told(site) == (2, [(3, 5), (6, 8)])
    assert site.target_offset("Y", "readers") == 2
    site.asked.clear()
    site.put(log("Y", AT_Y + " Y2 X3 X4 Y3"))
    grow(site)
    assert site.asked == []  # all that it has read is there


@pytest.mark.parametrize("again", [2, 1, 0])
def test_of_a_group_that_goes_back_the_list_comes_first_and_else_the_answer_waits(site: Site, again: int) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    site.commit("X", "readers", again)
    site.clusters["Y"].refused[HOLDS] = "GROUP_AUTHORIZATION_FAILED"
    (failure,) = site.reconcile()
    assert "its read list could not be replaced" in failure
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (2, [(3, 5)]))
    site.clusters["Y"].refused.clear()
    site.asked.clear()
    assert site.reconcile() == []
    (start, ranges) = told(site) or (0, [])
    assert site.target_offset("Y", "readers") == start < 2
    assert [group for _, group, _ in writes(site)] == [HOLDS, "readers"]
    assert ranges == {2: [(1, 2), (3, 4)], 1: [(1, 2)], 0: []}[again]


def test_a_group_with_members_at_both_clusters_gets_none(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    for alias in "XY":
        site.state.homes.note_members(alias, ["readers"], site.clock_ms[0])
    site.reconcile()
    assert told(site) == (0, [])


def test_what_we_have_brought_to_the_home_of_a_group_is_not_what_it_has_read(site: Site) -> None:
    other = TopicPartition("orders", 1)
    site.put(log("X", "X0 Y0 Y1"), other, partitions=2)
    site.put(log("Y", "Y0 Y1 X0", log_start=1), other, partitions=2)
    for alias in "XY":
        site.index.epochs[ClusterPartition(alias, *other)] = (f"orders at {alias}", EPOCH)
    site.commit("X", "readers", 1, other)
    site.commit("X", "readers", 4)
    site.reconciled()
    assert site.target_offset("Y", "readers", other) == 1  # Y0 is unread, and no longer there
    site.commit("Y", "readers", 5)
    site.reconciled()
    assert told(site, "X", other) is None
    site.commit("Y", "readers", 2, other)
    site.reconcile()
    assert told(site, "X", other) == (0, [(1, 3)])


def test_what_a_command_has_committed_for_a_group_that_it_has_moved_is_not_what_the_group_has_read(site: Site) -> None:
    site.state.homes.note_moves([Move("readers", "orders", "X", site.clock_ms[0], is_decided=False)])
    site.commit("X", "readers", 4)
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (2, None)
    site.pass_time(2_001)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])
    columns = site.offsets.clusters["X"].columns
    columns["log_partition"][:], columns["genuine_at_ms"][:] = POLLED, ABSENT  # so it may be from before the move
    site.reconcile()
    assert told(site) == (0, [])


def test_groups_of_ours_are_never_synced() -> None:
    config = config_of(["X", "Y"], groups={"include": [".*", "__offset-sync.read.readers"], "exclude": []})
    assert not config.is_group_included(HOLDS)
    assert config.is_group_included("readers")


def test_while_present_lists_are_unknown_no_answer_goes_down(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_by_the_tables(site)
    site.commit("X", "readers", 1)

    def silent(_deadline: float) -> str:
        raise ClusterError("Y", "does not answer")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site.clusters["Y"], "cluster_id", silent)
        (failure,) = site.reconcile(is_first=True)
    assert "its read list could not be replaced" in failure
    assert site.target_offset("Y", "readers") == 2
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (0, (0, [(1, 2)]))


def test_it_is_taken_away_before_a_group_that_went_back_meanwhile_is_answered(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    site.config = config_of(["X", "Y"], sync={"read_lists": {"groups": []}})  # of the next driver
    begin_again_by_the_tables(site)
    site.commit("X", "readers", 1)
    site.reconcile(is_first=True)
    assert writes(site) == [("Y", HOLDS, 0), ("Y", "readers", 0)]
