"""What a source has said of its log holds when it is lost: at every target, for every commit, by the next driver."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, Site, site_of

Change = Callable[[Site], None]


def cut(site: Site) -> None:
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 6)


def recreate(site: Site) -> None:
    site.clusters["X"].topics["orders"] = MemoryTopic("another life")


def nothing(site: Site) -> None:
    """The commit itself is beyond the end."""


EACH = pytest.mark.parametrize(
    ("change", "offset", "state"),
    [(nothing, 12, "COMMIT_BEYOND_END"), (cut, 5, "LOG_TRUNCATED"), (recreate, 5, "TOPIC_RECREATED")],
)


def lose_x(site: Site) -> dict[tuple[str, str], str]:
    """Let X be lost, when all others have its records up to 14; return states by target and group."""
    site.clusters["X"].is_down = True
    for alias in site.clusters.keys() - {"X"}:
        site.put(log(alias, "X0:14"))
    site.reconciliations.clear()
    site.reconcile(is_first=True)
    return states(site)


def states(site: Site) -> dict[tuple[str, str], str]:
    rows = [row for number in range(len(site.reconciliations)) for row in site.rows(number)]
    return {(row.target, row.group_id): row.state for row in rows}


@EACH
@pytest.mark.parametrize("is_of_the_next_driver", [False, True])
def test_it_holds_for_what_it_was_said_of(change: Change, offset: int, state: str, is_of_the_next_driver: bool) -> None:
    site = site_of("X", "Y")
    site.commit("X", "readers", offset)
    change(site)
    site.reconcile()
    if is_of_the_next_driver:
        begin_again_by_the_history(site)
    assert lose_x(site) == {("Y", "readers"): state}
    assert site.target_offset("Y", "readers") is None


# A commit beyond the end of its log, while a target is not ready or the translation fails


def be_silent(site: Site) -> None:
    site.clusters["Y"].is_down = True


def check_beyond_the_end(site: Site) -> None:
    """Lose X once Y is ready again, and see that the commit is answered nowhere."""
    site.clusters["Y"].is_down = False
    site.clusters["Y"].forbidden.clear()
    assert lose_x(site) == dict.fromkeys([("Y", "readers"), ("Z", "readers")], "COMMIT_BEYOND_END")
    assert site.target_offset("Y", "readers") is None


@pytest.mark.parametrize("again", [False, True])
def test_a_commit_beyond_the_end_is_known_of_a_target_that_answers_only_when_the_source_is_lost(again: bool) -> None:
    site = site_of("X", "Y", "Z")
    be_silent(site)
    site.commit("X", "readers", 12)
    site.reconcile()
    if again:  # both are silent
        site.clusters["X"].is_down = True
        site.reconcile()
    check_beyond_the_end(site)
