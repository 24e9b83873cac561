"""What a source has said of its log holds when it is lost: at every target, for every commit, by the next driver."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, Site, site_of
from offset_sync.model.values import State
from tools.thorough import examples

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


# Random histories

OF_THE_SOURCE = {"LOG_TRUNCATED", "TOPIC_RECREATED", "COMMIT_BEYOND_END"}
SEEDS = examples(60)


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


@pytest.mark.no_cover
def test_the_next_driver_answers_nothing_that_one_driver_withholds_for_what_the_source_has_said() -> None:
    withheld = 0
    for seed in range(SEEDS):
        one, many = (answered(seed, restarts=restarts) for restarts in (False, True))
        for key, state in one.items():
            if state in OF_THE_SOURCE:
                withheld += 1
                assert State[many.get(key, state)].is_withheld, (seed, key, state, many[key])
    assert withheld > SEEDS
