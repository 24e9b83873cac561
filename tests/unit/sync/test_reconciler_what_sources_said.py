"""What a source has said of its log holds when it is lost: at every target, for every commit, by the next driver."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, Site, site_of


def cut(site: Site) -> None:
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 6)


def recreate(site: Site) -> None:
    site.clusters["X"].topics["orders"] = MemoryTopic("another life")


def nothing(site: Site) -> None:
    """The commit itself is beyond the end, and Y does not answer for now."""
    site.clusters["Y"].is_down = True


@pytest.mark.parametrize("is_of_the_next_driver", [False, True])
@pytest.mark.parametrize(
    ("change", "offset", "state"),
    [(nothing, 12, "COMMIT_BEYOND_END"), (cut, 5, "LOG_TRUNCATED"), (recreate, 5, "TOPIC_RECREATED")],
)
def test_it_holds_for_what_it_was_said_of(
    change: Callable[[Site], None], offset: int, state: str, is_of_the_next_driver: bool
) -> None:
    site = site_of("X", "Y", "Z")
    site.commit("X", "readers", offset)
    change(site)
    site.reconcile()
    if is_of_the_next_driver:
        begin_again_by_the_history(site)
    site.clusters["X"].is_down, site.clusters["Y"].is_down = True, False
    for alias in "YZ":
        site.put(log(alias, "X0:14"))
    site.reconciliations.clear()
    site.reconcile(is_first=True)
    rows = [row for number in range(len(site.reconciliations)) for row in site.rows(number)]
    assert sorted((row.target, row.state) for row in rows) == [("Y", state), ("Z", state)]
    assert {site.target_offset(alias, "readers") for alias in "YZ"} == {None}
