"""What a source has said of its log holds when it is lost: at every target, for every commit, by the next driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, Site, config_of, site_of
from offset_sync.model.values import OffsetWrite, WriteOutcome

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
WHOLE = pytest.mark.parametrize(("change", "state"), [(cut, "LOG_TRUNCATED"), (recreate, "TOPIC_RECREATED")])


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


@WHOLE
@pytest.mark.parametrize("is_of_the_next_driver", [False, True])
def test_what_is_said_of_a_whole_log_holds_for_a_commit_that_comes_alone(
    change: Change, state: str, is_of_the_next_driver: bool
) -> None:
    """As in a micro-batch that is reconciled before the first pass of a driver that has just started."""
    site = site_of("X", "Y")
    site.commit("X", "readers", 5)
    change(site)
    site.reconcile()
    if is_of_the_next_driver:
        begin_again_by_the_history(site)
        site.read_all()
    site.clusters["X"].is_down = True
    site.commit("X", "late", 3)
    site.reconciliations.clear()
    site.reconciler.reconcile_batch("X", site.read("X"), 1)
    assert states(site) == {("Y", "late"): state}
    assert site.target_offset("Y", "late") is None


@EACH
def test_it_holds_at_a_target_that_is_configured_only_when_the_source_is_lost(
    change: Change, offset: int, state: str
) -> None:
    before = site_of("X", "Y")
    before.commit("X", "readers", offset)
    change(before)
    before.reconcile()
    site = Site(config_of(["X", "Y", "Z"]), before.clock_ms, before.index, before.reconciliations)
    site.clusters |= before.clusters
    site.offsets = before.offsets
    begin_again_by_the_history(site)
    assert lose_x(site) == {("Y", "readers"): state, ("Z", "readers"): state}
    assert site.target_offset("Z", "readers") is None


@EACH
def test_it_holds_at_a_target_that_hung_when_it_was_said(change: Change, offset: int, state: str) -> None:
    goes_on, site = threading.Event(), site_of("X", "Y", "Z")

    def hang(writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        assert goes_on.wait(30)
        return site.write("Z", writes)

    site.writers["Z"].write = hang  # type: ignore[method-assign]
    site.commit("X", "others", 4)
    site.reconciler.reconcile_batch("X", site.read("X"), 1)
    site.commit("X", "readers", offset)
    change(site)
    site.reconciler.reconcile_batch("X", site.read("X"), 2)
    assert states(site)["Y", "readers"] == state
    site.clusters["X"].is_down = True
    goes_on.set()
    assert lose_x(site)["Z", "readers"] == state
    assert site.target_offset("Z", "readers") is None


@WHOLE
@pytest.mark.parametrize("is_of_the_next_driver", [False, True])
def test_it_is_said_though_the_target_is_silent(change: Change, state: str, is_of_the_next_driver: bool) -> None:
    """All answers are settled, and no group commits; then the source is lost and the target is back."""
    site = site_of("X", "Y")
    site.commit("X", "readers", 5)
    for _ in range(4):
        site.reconcile()
    site.clusters["Y"].is_down = True
    change(site)
    site.reconcile()
    if is_of_the_next_driver:
        begin_again_by_the_history(site)
    site.clusters["Y"].is_down = False
    assert lose_x(site) == {("Y", "readers"): state}


def test_it_holds_no_more_when_the_source_says_that_all_is_well_and_is_lost_then() -> None:
    site = site_of("X", "Y")
    site.commit("X", "readers", 5)
    cut(site)
    site.reconcile()
    site.put(log("X", "X0:10"))
    site.reconcile()
    assert lose_x(site) == {("Y", "readers"): "EXACT"}
