"""Whatever one driver withholds because of what a source has said, a row of drivers withholds too: random histories."""

from __future__ import annotations

import random

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.values import State

OF_THE_SOURCE = {"LOG_TRUNCATED", "TOPIC_RECREATED", "COMMIT_BEYOND_END"}
SEEDS = 120


def answers(seed: int, *, restarts: bool) -> dict[tuple[str, str], str]:
    """Return states by target and group after X was lost; what happens before is told by *seed* alone."""
    rng, site = random.Random(seed), Site(config_of("XYZ"))
    for alias in "XYZ":
        site.put(log(alias, "X0:10"))
    for number in range(rng.randint(2, 14)):
        step(site, rng, number, restarts=restarts)
    site.reconcile()  # each driver has the last commits of all clusters that answer
    begin_again(site, restarts=restarts)
    site.clusters["X"].is_down = True
    for alias in "YZ":
        site.clusters[alias].is_down = False
        site.put(log(alias, "X0:14"))
    if rng.random() < 0.5:
        site.commit("X", rng.choice("cd"), rng.randint(0, 9))
    site.reconciliations.clear()
    site.reconcile(is_first=True)
    rows = [row for number in range(len(site.reconciliations)) for row in site.rows(number)]
    return {(row.target, row.group_id): row.state for row in rows}


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
        one, many = (answers(seed, restarts=restarts) for restarts in (False, True))
        for key, state in one.items():
            if state in OF_THE_SOURCE:
                withheld += 1
                assert State[many.get(key, state)].is_withheld, (seed, key, state, many[key])
    assert withheld > SEEDS
