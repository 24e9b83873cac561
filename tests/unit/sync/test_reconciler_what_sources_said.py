"""What a source has said of its log holds when it is lost: at every target, for every commit, by the next driver."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, Site, config_of, site_of
from offset_sync.model.values import CLOCKS_APART_MS, ClusterPartition, State
from offset_sync.state import translator

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


# A commit beyond the end of its log, while a target is not ready or the translation fails


def be_silent(site: Site) -> None:
    site.clusters["Y"].is_down = True


def lose_the_topic(site: Site) -> None:
    del site.clusters["Y"].topics["orders"]


def have_more_partitions(site: Site) -> None:
    site.put(log("Y", "X0:10"), topic_id="orders at Y", partitions=2)


def refuse(site: Site) -> None:
    site.clusters["Y"].forbidden.add("orders")


def check_beyond_the_end(site: Site) -> None:
    """Lose X once Y is ready again, and see that the commit is answered nowhere."""
    site.clusters["Y"].is_down = False
    site.clusters["Y"].forbidden.clear()
    assert lose_x(site) == dict.fromkeys([("Y", "readers"), ("Z", "readers")], "COMMIT_BEYOND_END")
    assert site.target_offset("Y", "readers") is None


@pytest.mark.parametrize("not_ready", [be_silent, lose_the_topic, have_more_partitions, refuse])
@pytest.mark.parametrize("is_of_the_next_driver", [False, True])
def test_a_commit_beyond_the_end_stays_withheld_though_the_target_was_not_ready_for_a_while(
    not_ready: Change, is_of_the_next_driver: bool
) -> None:
    site = site_of("X", "Y", "Z")
    site.commit("X", "readers", 12)
    site.reconcile()
    not_ready(site)
    site.reconcile()
    if is_of_the_next_driver:
        begin_again_by_the_history(site)
    check_beyond_the_end(site)


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
    check_beyond_the_end(site)


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
    assert lose_x(site) == {("Y", "readers"): "COMMIT_BEYOND_END"}
    assert site.target_offset("Y", "readers") is None


# Random histories

OF_THE_SOURCE = {"LOG_TRUNCATED", "TOPIC_RECREATED", "COMMIT_BEYOND_END"}
SEEDS = 60


def answered(seed: int, *, restarts: bool) -> dict[tuple[str, str], str]:
    """Return states by target and group after X was lost; what happens before is told by *seed* alone."""
    rng, site = random.Random(seed), site_of("X", "Y", "Z")
    for number in range(rng.randint(2, 14)):
        step(site, rng, number, restarts=restarts)
    site.reconcile()  # each driver has the last commits of all clusters that answer
    begin_again(site, restarts=restarts)
    for alias in "YZ":
        site.clusters[alias].is_down = False
    if rng.random() < 0.5:
        site.commit("X", rng.choice("cd"), rng.randint(0, 9))
    return lose_x(site)


def step(site: Site, rng: random.Random, number: int, *, restarts: bool) -> None:
    """Let something happen to the source, a target or the driver."""
    x, target = site.clusters["X"], site.clusters[rng.choice("YZ")]
    group, offset, end = rng.choice("abc"), rng.randint(0, 14), rng.randint(3, 14)
    match rng.choice(["commit", "commit", "end", "end", "topic", "target", "restart", "pass", "batch"]):
        case "commit":
            site.commit("X", group, offset)
        case "end":
            x.logs[ORDERS] = MemoryEnds(0, end)
        case "topic":
            x.topics["orders"] = MemoryTopic(rng.choice(["orders at X", "another"]))
        case "target":
            target.is_down = not target.is_down
        case "restart":
            begin_again(site, restarts=restarts)
        case "pass":
            site.reconcile()
        case "batch":
            site.reconciler.reconcile_batch("X", site.read("X"), number)


def begin_again(site: Site, *, restarts: bool) -> None:
    site.read_all()
    if restarts and (site.reconciliations or site.history):
        begin_again_by_the_history(site)


def test_the_next_driver_answers_nothing_that_one_driver_withholds_for_what_the_source_has_said() -> None:
    withheld = 0
    for seed in range(SEEDS):
        one, many = (answered(seed, restarts=restarts) for restarts in (False, True))
        for key, state in one.items():
            if state in OF_THE_SOURCE:
                withheld += 1
                assert State[many.get(key, state)].is_withheld, (seed, key, state, many[key])
    assert withheld > SEEDS
