"""What the source has said of its own log is not forgotten because the target was not ready when it said so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, Site, site_of
from offset_sync.model.values import CLOCKS_APART_MS, ClusterPartition
from offset_sync.state import translator
from offset_sync.state.translator import Translator

Change = Callable[[Site], None]


def states(site: Site) -> dict[str, str]:
    """The state of the only row to each target in the last pass."""
    return {row.target: row.state for n in range(len(site.reconciliations)) for row in site.rows(n)}


def lose_x(site: Site, *targets: str) -> None:
    """Let X be lost, after it has got records at 10 to 13 that the others have too."""
    site.clusters["X"].is_down = True
    for target in targets:
        site.put(log(target, "X0:14"))
    site.reconciliations.clear()
    site.reconcile()


def be_silent(site: Site) -> None:
    site.clusters["Y"].is_down = True


def lose_the_topic(site: Site) -> None:
    del site.clusters["Y"].topics["orders"]


def have_more_partitions(site: Site) -> None:
    site.put(log("Y", "X0:10"), topic_id="orders at Y", partitions=2)


def refuse(site: Site) -> None:
    site.clusters["Y"].forbidden.add("orders")


@pytest.mark.parametrize("not_ready", [be_silent, lose_the_topic, have_more_partitions, refuse])
def test_a_commit_beyond_the_end_stays_withheld_though_the_target_was_not_ready_for_a_while(not_ready: Change) -> None:
    site = site_of("X", "Y")
    site.commit("X", "readers", 12)
    site.reconcile()
    not_ready(site)
    site.reconcile()
    site.clusters["Y"].is_down = False
    site.clusters["Y"].forbidden.clear()
    lose_x(site, "Y")
    assert states(site) == {"Y": "COMMIT_BEYOND_END"}
    assert site.target_offset("Y", "readers") is None


@pytest.mark.parametrize("where", ["asking", "computing", "telling"])
@pytest.mark.parametrize("is_silent", [False, True])
def test_a_commit_beyond_the_end_stays_withheld_though_its_translation_failed_meanwhile(
    monkeypatch: pytest.MonkeyPatch, where: str, is_silent: bool
) -> None:
    def fails(*_asked: object) -> None:
        raise ValueError("repeats may not contain negative values")

    site = site_of("X", "Y", "Z")
    site.commit("X", "readers", 12)
    site.reconcile()
    site.clusters["X"].is_down = is_silent
    with monkeypatch.context() as broken:
        if where == "asking":
            broken.setattr(site.state.index, "rebuilt", fails)
        else:
            broken.setattr(translator, {"computing": "translate_partition", "telling": "of_lost_records"}[where], fails)
        site.reconciliations.clear()
        site.reconcile()
        assert {*states(site).values()} <= {"COMMIT_BEYOND_END", "TRANSLATION_FAILED"}
    lose_x(site, "Y", "Z")
    assert states(site) == {"Y": "COMMIT_BEYOND_END", "Z": "COMMIT_BEYOND_END"}
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
    site.clusters["Y"].is_down = False
    lose_x(site, "Y", "Z")
    assert states(site) == {"Y": "COMMIT_BEYOND_END", "Z": "COMMIT_BEYOND_END"}
    assert site.target_offset("Y", "readers") is None


@pytest.mark.parametrize("not_ready", [be_silent, lose_the_topic, have_more_partitions, refuse])
def test_the_next_driver_knows_a_commit_beyond_the_end_though_the_target_was_not_ready_when_this_one_ended(
    not_ready: Change,
) -> None:
    site = site_of("X", "Y", "Z")
    site.commit("X", "readers", 12)
    site.reconcile()
    not_ready(site)
    site.reconcile()
    begin_again_by_the_history(site)
    site.clusters["Y"].is_down = False
    site.clusters["Y"].forbidden.clear()
    lose_x(site, "Y", "Z")
    assert states(site) == {"Y": "COMMIT_BEYOND_END", "Z": "COMMIT_BEYOND_END"}
    assert site.target_offset("Y", "readers") is None


def test_a_log_that_was_cut_while_the_target_was_silent_stays_withheld_when_the_source_is_lost() -> None:
    site = site_of("X", "Y", "Z")
    be_silent(site)
    site.commit("X", "readers", 8)
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 6)
    site.reconcile()
    site.clusters["Y"].is_down = False
    lose_x(site, "Y", "Z")
    assert states(site) == {"Y": "LOG_TRUNCATED", "Z": "LOG_TRUNCATED"}
    assert site.target_offset("Y", "readers") is None


def test_a_commit_that_comes_alone_is_withheld_with_a_log_that_was_cut_while_the_target_was_silent() -> None:
    site = site_of("X", "Y", "Z")
    be_silent(site)
    site.commit("X", "readers", 5)
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 6)
    site.reconcile()
    site.clusters["Y"].is_down = False
    site.clusters["X"].is_down = True
    site.commit("X", "late", 3)
    site.reconciliations.clear()
    site.reconciler.reconcile_batch("X", site.read("X"), 1)
    assert states(site) == {"Y": "LOG_TRUNCATED", "Z": "LOG_TRUNCATED"}
    assert site.target_offset("Y", "late") is None


def test_a_commit_is_translated_as_soon_as_the_source_says_that_its_log_reaches_so_far() -> None:
    site = site_of("X", "Y")
    be_silent(site)
    site.commit("X", "readers", 12)
    site.reconcile()
    site.clusters["Y"].is_down = False
    site.put(log("X", "X0:14"))
    site.put(log("Y", "X0:14"))
    site.reconcile()
    assert site.target_offset("Y", "readers") == 12


def test_a_log_that_was_cut_stays_withheld_though_its_translation_failed_when_the_source_said_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_asked: object) -> None:
        raise ValueError("repeats may not contain negative values")

    site = site_of("X", "Y")
    site.commit("X", "readers", 5)
    site.reconcile()
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 6)
    with monkeypatch.context() as broken:
        broken.setattr(Translator, "unread_since_ms", fails)
        site.reconcile()
    site.clusters["X"].is_down = True
    site.commit("X", "late", 3)
    site.reconcile()
    assert {row.state for row in site.rows()} == {"LOG_TRUNCATED"}
    assert site.target_offset("Y", "late") is None


def test_what_this_driver_has_heard_later_than_the_one_before_is_not_out_of_date_by_what_was_indexed_between() -> None:
    """The index has read X up to 14, and is a moment late to say so; then X was cut to 10, and is lost."""
    site = site_of("X", "Y")
    site.commit("X", "readers", 12)
    site.reconcile()
    begin_again_by_the_history(site)
    site.pass_time(3 * CLOCKS_APART_MS)
    site.reconcile()
    site.index.extend(log("X", "X0:14"), ORDERS)
    site.index.logs[ClusterPartition("X", *ORDERS)].complete_until_ms = site.clock_ms[0] - CLOCKS_APART_MS
    lose_x(site, "Y")
    assert states(site) == {"Y": "COMMIT_BEYOND_END"}
    assert site.target_offset("Y", "readers") is None
