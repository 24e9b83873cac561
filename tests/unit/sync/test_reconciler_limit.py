"""A target's limit of commits per second cuts a pass into turns; what is written is what it would be without one."""

from __future__ import annotations

import time
from collections.abc import Collection

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.values import TopicPartition
from offset_sync.sync.reconcile_request import ReconcileRequest, Selection

RECORDS, GROUPS = 100, [f"g{number:02}" for number in range(50)]


def site_of(limit: object) -> Site:
    site = Site(config_of(["X", "Y"], sync={"max_commits_per_second": limit}))
    site.put(log("X", f"X0:{RECORDS}"))
    site.put(log("Y", f"X0:{RECORDS}", first=7))
    for number, group in enumerate(GROUPS):
        site.commit("X", group, number)
    return site


def after_a_turn() -> tuple[Site, ReconcileRequest]:
    """Return a site after the first of two turns, and what is left for the second."""
    site = site_of(25)
    site.read_all()
    turn = site.reconciler._pass.reconcile("X", "Y", ReconcileRequest(Selection.EVERY, site.state.all_rows()))
    assert turn.failures == []
    assert turn.rest is not None
    assert len(turn.rest.rows) == 25
    return site, turn.rest


def test_a_first_pass_writes_everything_a_seconds_worth_at_a_time() -> None:
    site = site_of(20)
    began = time.monotonic()
    assert site.reconcile(is_first=True) == []
    assert time.monotonic() - began >= 2.0  # three turns: 20, 20 and 10
    assert [len(each.plan.writes) for each in site.reconciliations] == [20, 20, 10]
    assert [site.target_offset("Y", group) for group in GROUPS] == [7 + number for number in range(50)]


def test_so_does_a_regular_pass() -> None:
    site = site_of(20)
    assert site.reconcile() == []
    assert [len(each.plan.writes) for each in site.reconciliations] == [20, 20, 10]
    site.reconciliations.clear()
    time.sleep(site.reconciler._pass.pause_s("Y"))
    site.commit("X", GROUPS[0], 50)
    assert site.reconcile() == []
    assert [len(each.plan.writes) for each in site.reconciliations] == [1, 0, 0]


def test_a_turn_asks_about_no_more_partitions_than_it_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(config_of(["X", "Y"], sync={"max_commits_per_second": 4}))
    for number in range(10):
        place = ORDERS._replace(partition=number)
        site.put(log("X", f"X0:{RECORDS}"), place, partitions=10)
        site.put(log("Y", f"X0:{RECORDS}", first=7), place, partitions=10)
        site.commit("X", "readers", number, place)
    asked, fetch = list[int](), Site.fetch

    def count(self: Site, aliases: Collection[str], partitions: Collection[TopicPartition]) -> object:
        asked.append(len(partitions))
        return fetch(self, aliases, partitions)

    monkeypatch.setattr(Site, "fetch", count)
    assert site.reconcile(is_first=True) == []
    assert asked == [4, 4, 2]


@pytest.mark.parametrize("limit", ["off", False])
def test_without_a_limit_there_is_one_turn(limit: object) -> None:
    site = site_of(limit)
    assert site.reconcile(is_first=True) == []
    assert [len(each.plan.writes) for each in site.reconciliations] == [50]


def test_a_commit_between_two_turns_is_translated_instead_of_the_older_one() -> None:
    site, rest = after_a_turn()
    site.commit("X", GROUPS[-1], 99)
    site.read_all()
    assert site.reconciler._pass.reconcile("X", "Y", rest).rest is None
    assert site.target_offset("Y", GROUPS[-1]) == 7 + 99


def test_a_group_that_moves_between_two_turns_is_left_alone_at_its_new_home() -> None:
    site, rest = after_a_turn()
    site.commit("Y", GROUPS[-1], 80)
    site.read_all()
    site.reconciler._pass.reconcile("X", "Y", rest)
    assert site.target_offset("Y", GROUPS[-1]) == 80


def test_what_needs_no_commit_is_not_charged() -> None:
    site = site_of(25).reconciled()
    time.sleep(site.reconciler._pass.pause_s("Y"))
    began = time.monotonic()
    assert site.reconcile(is_first=True) == []
    assert time.monotonic() - began < 0.9
    assert len(site.reconciliations) == 2  # both turns have asked, and found what was wanted
