"""Read lists that others have written, or that are no longer maintained."""

from __future__ import annotations

import pytest

from fakes.next_driver import begin_again_by_the_tables
from fakes.read_list_site import HOLDS, listed_site, told, writes
from fakes.reconciler_site import Site, config_of


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
