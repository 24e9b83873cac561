"""One reporter from report to report: what it remembers changes nothing but the time it takes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.logs import log
from fakes.read_list_site import AT_X, AT_Y, EPOCH, listed_site, told
from fakes.reconciler_site import ORDERS, config_of
from fakes.status_site import Row, StatusSite, status_site
from generators.hypothesis_strategies import law
from generators.mirrored_logs import CLUSTERS, random_cases, random_world
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.group_homes import Move
from offset_sync.status.live_state import StatusReporter
from oracles.translation import Case

PAY = TopicPartition("pay-in", 0)


def reported(reporter: StatusReporter, site: StatusSite, now_ms: int) -> list[Row]:
    """What a reporter says, but for how long it has been so."""
    rows = site.reported(now_ms, reporter=reporter).drop_columns(["staleness_ms"])
    return sorted(rows.to_pylist(), key=str)


@law(20)
@given(st.integers(0, 2**32))
def test_an_old_reporter_says_what_a_new_one_says(seed: int) -> None:
    rng = random.Random(seed)
    case = rng.choice([each for each in random_cases(random_world(rng), rng) if each.source is not None] or [None])
    if case is None or case.source is None:
        return
    site = growing_site(case)
    for now_ms in range(10):
        grow(site, case, rng)
        site.read_all()
        assert reported(site.reporter, site, now_ms) == reported(site.new_reporter(), site, now_ms)


def crossing_site() -> StatusSite:
    """As in ``fakes.read_list_site``."""
    site = StatusSite(listed_site().config)
    for alias, records in {"X": AT_X, "Y": AT_Y}.items():
        site.put(log(alias, records))
        site.index.epochs[ClusterPartition(alias, *ORDERS)] = (f"orders at {alias}", EPOCH)
    return site


def is_moved_here(site: StatusSite) -> None:
    """A command has set the position at X."""
    site.state.homes.note_moves([Move("readers", "orders", "X", site.clock_ms[0])])


def is_back_elsewhere(site: StatusSite) -> None:
    """The group reads at Y, goes back there, and commits at X just after."""
    for alias, offset in (("Y", 3), ("Y", 1), ("X", 4)):
        site.commit(alias, "readers", offset)


def is_committed_at_both(site: StatusSite) -> None:
    """Two clusters are active at once."""
    site.state.homes.silence_ms = 300_000
    site.commit("Y", "readers", 5)
    site.commit("X", "readers", 4)


@pytest.mark.parametrize("happens", [is_moved_here, is_back_elsewhere, is_committed_at_both])
def test_a_list_that_sync_offsets_has_emptied_is_promised_by_no_report(happens: Callable[[StatusSite], None]) -> None:
    site = crossing_site()
    site.commit("X", "readers", 4)
    site.reconciled()
    assert listed(site) == 2
    happens(site)
    for _ in range(3):
        site.reconcile()
    assert told(site) == (0, [])
    assert listed(site) == 0


def listed(site: StatusSite) -> int:
    """Return how many records a report says are on the list of the group readers at Y."""
    (found,) = (row["listed"] for row in site.reported(0).to_pylist() if row["target_cluster"] == "Y")
    return int(found)


def growing_site(case: Case) -> StatusSite:
    """The clusters of *case*, of which nothing is indexed yet."""
    grace, stalled = f"{case.hole_grace_ms}ms", {"stalled_after": "3650d"}
    site = StatusSite(config_of(CLUSTERS, sync={"hole_grace": grace}, status=stalled))
    for name in CLUSTERS:
        site.index.code(name)
    for where in (case.source, case.target):
        assert where is not None
        site.put(replace(where, frontier=0))
        site.index.extend(replace(where, frontier=0), ORDERS)
    return site


def grow(site: StatusSite, case: Case, rng: random.Random) -> None:
    """Let something happen: the index reads on, a group commits, the sync writes, retention runs, a cluster goes."""
    for where in (case.source, case.target):
        assert where is not None
        if rng.random() < 0.4:
            known = site.index.logs[where.cluster, "orders", 0].frontier
            site.index.extend(replace(where, frontier=rng.randint(known, where.log_end)), ORDERS)
        if rng.random() < 0.2:
            start = min(where.log_end, site.clusters[where.cluster].logs[ORDERS].log_start + 1)
            site.clusters[where.cluster].logs[ORDERS] = type(site.clusters[where.cluster].logs[ORDERS])(
                start, where.log_end
            )
    for group in "ab":
        if rng.random() < 0.3:
            site.commit(case.source_cluster, group, rng.randint(0, case.source_frontier + 1))
        if rng.random() < 0.3:
            site.write_as_we_do(case.target.cluster, group, rng.randint(0, case.target.log_end))
    cluster = site.clusters[rng.choice([case.source_cluster, case.target.cluster])]
    cluster.is_down = rng.random() < 0.1
    if rng.random() < 0.05:
        cluster.topics["orders"] = cluster.topics["orders"]._replace(topic_id="recreated")


def test_excluded_groups_topics_and_directions_are_not_reported() -> None:
    site = status_site(
        "X0:10",
        "X0:10",
        groups={"include": [".*"], "exclude": ["b"]},
        directions=[["X", "Y"]],
        topics={"include": ["orders", "pay-.*"], "overrides": [{"topics": ["pay-.*"], "strategy": "off"}]},
    )
    for group in "abc":
        site.commit("X", group, 4)
    site.commit("X", "a", 2, PAY)
    site.commit("Y", "c", 4)
    assert [(row["group_id"], row["topic"]) for row in site.report()] == [("a", "orders")]
