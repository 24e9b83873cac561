"""Read lists that others have written, or that are no longer maintained."""

from __future__ import annotations

import pytest

from fakes.next_driver import begin_again_by_the_tables
from fakes.read_list_site import HOLDS, listed_site, told, writes
from fakes.reconciler_site import ORDERS, Site
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, Rule, WriteOutcome


@pytest.fixture
def site() -> Site:
    """X and Y, as in ``fakes.read_list_site``."""
    return listed_site()


def begin_again_with(site: Site, groups: list[str]) -> None:
    """Let another driver take over, whose configuration names *groups*."""
    site.config = listed_site(groups).config
    begin_again_by_the_tables(site)
    site.asked.clear()


@pytest.mark.parametrize("named", [[], ["others"]])
def test_the_list_of_a_group_that_is_not_named_any_more_is_taken_away(site: Site, named: list[str]) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_with(site, named)
    site.reconcile(is_first=True)
    assert writes(site)[0] == ("Y", HOLDS, 0)
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (0, []))
    begin_again_with(site, named)
    site.reconcile(is_first=True)
    assert HOLDS not in {group for _, group, _ in writes(site)}


def test_the_list_of_a_group_that_is_named_stays(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_with(site, ["read.*", "others"])
    site.reconcile(is_first=True)
    assert told(site) == (2, [(3, 5)])


def test_it_is_taken_away_before_a_group_that_went_back_meanwhile_is_answered(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_with(site, [])
    site.commit("X", "readers", 1)
    site.reconcile(is_first=True)
    assert writes(site) == [("Y", HOLDS, 0), ("Y", "readers", 0)]


def be_silent(site: Site, patch: pytest.MonkeyPatch) -> None:
    """Have no cluster return its lists, nor take any."""
    whole = site.clusters["Y"].committed_offsets

    def but_for_lists(groups: list[str], deadline: float) -> object:
        found: dict[str, object] = {**whole(groups, deadline)}
        return found | ({HOLDS: ClusterError("Y", "NOT_COORDINATOR")} if HOLDS in groups else {})

    patch.setattr(site.clusters["Y"], "committed_offsets", but_for_lists)
    patch.setitem(site.clusters["Y"].refused, HOLDS, "NOT_COORDINATOR")


def refuse_groups(_deadline: float) -> list[str]:
    raise ClusterError("Y", "broker 2 does not answer")


@pytest.mark.parametrize("silent", ["groups", "offsets", "write"])
def test_it_is_tried_again_until_it_is_done(site: Site, silent: str) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_with(site, [])
    with pytest.MonkeyPatch.context() as patch:
        if silent == "groups":
            patch.setattr(site.clusters["Y"], "groups", refuse_groups)
        elif silent == "offsets":
            be_silent(site, patch)
            patch.delitem(site.clusters["Y"].refused, HOLDS)
        else:
            patch.setitem(site.clusters["Y"].refused, HOLDS, "NOT_COORDINATOR")
        site.reconcile(is_first=True)
    assert told(site) == (2, [(3, 5)])
    site.commit("X", "others", 1)
    site.reconcile()
    assert told(site) == (0, [])


def write_as_another_process(site: Site) -> str:
    """Put a list at Y with more records than the group has read; return the text before."""
    cluster = site.clusters["Y"]
    before = cluster.group_offsets[HOLDS, ORDERS].metadata
    other = listed_site()
    other.commit("X", "readers", 2)
    other.reconcile()
    cluster.commit(HOLDS, ORDERS, 0, other.clusters["Y"].group_offsets[HOLDS, ORDERS].metadata)
    return before


def test_for_a_group_that_goes_back_the_present_list_is_read(site: Site) -> None:
    site.commit("X", "readers", 6)
    site.reconciled()
    before = write_as_another_process(site)
    site.commit("X", "readers", 5)  # the list is that of 6
    site.reconcile()
    assert site.clusters["Y"].group_offsets[HOLDS, ORDERS].metadata == before
    assert told(site) == (2, [(3, 5)])


@pytest.mark.parametrize("went_back", [True, False])
def test_without_a_known_list_a_group_that_went_back_waits_also_to_go_up(site: Site, went_back: bool) -> None:
    site.commit("X", "readers", 2)
    site.commit("X", "readers", 1 if went_back else 2)
    site.reconciled()
    begin_again_by_the_tables(site)
    site.commit("X", "readers", 4)
    with pytest.MonkeyPatch.context() as patch:
        be_silent(site, patch)
        failures = site.reconcile(is_first=True)
        assert len(failures) == went_back
        assert site.target_offset("Y", "readers") == (0 if went_back else 2)
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (2, [(3, 5)]))


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
