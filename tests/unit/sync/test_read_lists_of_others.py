"""Read lists that others have written, or that are no longer maintained."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.next_driver import begin_again_by_the_tables
from fakes.read_list_site import EPOCH, HOLDS, listed_site, told, writes
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, OffsetWrite, Outcome, Rule, WriteOutcome


@pytest.fixture
def site() -> Site:
    """X and Y, as in ``fakes.read_list_site``."""
    return listed_site()


EXCLUDED = {"groups": {"exclude": ["readers"]}}


def begin_again_with(site: Site, named: list[str], **sections: object) -> None:
    """Let another driver take over, whose configuration has lists for the groups *named*."""
    site.config = config_of(["X", "Y"], sync={"read_lists": {"groups": named}, "refresh_interval": "1h"}, **sections)
    begin_again_by_the_tables(site)
    site.asked.clear()


@pytest.mark.parametrize(
    ("named", "sections", "is_left"),
    [([], {}, False), (["others"], {}, False), (["read.*"], {}, True), (["readers"], EXCLUDED, False)],
)
def test_the_list_of_a_group_that_gets_none_any_more_is_taken_away_once(
    site: Site, named: list[str], sections: dict[str, object], is_left: bool
) -> None:
    site.commit("X", "others", 1)
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_with(site, named, **sections)
    site.reconcile(is_first=True)
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (2, [(3, 5)]) if is_left else (0, []))
    begin_again_with(site, named, **sections)
    site.reconcile(is_first=True)
    assert HOLDS not in {group for _, group, _ in writes(site)}


def test_it_is_taken_away_before_a_group_that_went_back_meanwhile_is_answered(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_with(site, [])
    site.commit("X", "readers", 1)
    site.reconcile(is_first=True)
    assert writes(site) == [("Y", HOLDS, 0), ("Y", "readers", 0)]


def refuse_groups(_deadline: float) -> list[str]:
    raise ClusterError("Y", "broker 2 does not answer")


def refuse_offsets(groups: list[str], deadline: float) -> dict[str, ClusterError]:
    return dict.fromkeys(groups, ClusterError("Y", f"not within {deadline} s"))


@pytest.mark.parametrize("silent", ["groups", "offsets", "write"])
def test_it_is_tried_again_until_it_is_done(site: Site, silent: str) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_with(site, [])
    with pytest.MonkeyPatch.context() as patch:
        if silent == "groups":
            patch.setattr(site.clusters["Y"], "groups", refuse_groups)
        elif silent == "offsets":
            refused = ClusterError("Y", "NOT_COORDINATOR")
            patch.setattr(
                site.clusters["Y"], "committed_offsets", lambda groups, *_, **__: dict.fromkeys(groups, refused)
            )
        else:
            patch.setitem(site.clusters["Y"].refused, HOLDS, "NOT_COORDINATOR")
        site.reconcile(is_first=True)
    assert told(site) == (2, [(3, 5)])
    site.commit("X", "others", 1)
    site.reconcile()
    assert told(site) == (0, [])


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


@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_from_before_an_unknown_write_does_not_count_after_it(site: Site, times: int) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_by_the_tables(site)
    lists, cluster = site.lists, site.clusters["Y"]
    whole = cluster.committed_offsets

    def fail() -> None:
        failed = WriteOutcome(HOLDS, *ORDERS, Outcome.FAILED, None, "REQUEST_TIMED_OUT", is_in_doubt=True)
        lists.note("Y", {0: OffsetWrite(HOLDS, *ORDERS, 0, None, Rule.SET, None)}, [failed])

    def meanwhile(groups: list[str], deadline: float) -> object:
        found = whole(groups, deadline)
        fail()
        return found

    if times == 2:
        fail()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "committed_offsets", meanwhile)
        lists.learn(["Y"], site.state.all_rows())
    assert lists._known("Y", 0) is None
    lists.learn(["Y"], site.state.all_rows())
    assert lists._known("Y", 0) is not None
