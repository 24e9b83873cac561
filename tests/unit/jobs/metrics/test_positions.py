"""Staleness, duplicates and reasons per pair, from a real reconcile pass among clusters in memory."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.metrics_site import XY, Watched
from fakes.reconciler_site import ORDERS, mirrored_site
from offset_sync.model.values import State, TopicPartition


@pytest.fixture
def watched() -> Watched:
    return Watched(mirrored_site())


def test_a_commit_that_has_arrived_leaves_nothing_stale(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(60_000)
    assert watched.stale() == {}
    assert watched.scrape().positive("positions", "outcome", **XY) == {"COMMITTED": 1}
    assert watched.scrape().positive("answers", "state", **XY) == {"EXACT": 1}


def test_a_commit_without_an_answer_waits_since_it_was_made(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.commit("X", "readers", 5)
    watched.site.read("X")
    watched.site.pass_time(7_000)
    assert watched.stale() == {"PENDING": 7}
    assert watched.scrape().values("group_staleness_seconds", "group_id", outcome="PENDING", **XY) == {"readers": 7}


def test_the_same_offset_committed_again_waits_for_its_answer_too(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(60_000)
    watched.site.commit("X", "readers", 4)
    watched.site.read("X")
    watched.site.pass_time(2_000)
    assert watched.stale() == {"PENDING": 2}


def test_the_oldest_of_many_failed_commits_says_how_stale_it_is(watched: Watched) -> None:
    watched.site.clusters["Y"].refused["readers"] = "GROUP_AUTHORIZATION_FAILED"
    for offset in (3, 4, 5):
        watched.site.commit("X", "readers", offset)
        watched.reconcile()
        watched.site.pass_time(10_000)
    assert watched.stale()["FAILED"] == pytest.approx(30, abs=0.1)
    watched.site.clusters["Y"].refused.clear()
    watched.reconcile()
    assert watched.stale() == {}


def test_a_target_that_lost_what_it_had_is_stale_since_that_was_found(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(3_600_000)
    watched.site.clusters["Y"].is_down = True
    watched.site.reconciler.reconcile_all(is_first=True)
    watched.note()
    watched.site.pass_time(5_000)
    assert watched.stale() == {"FAILED": 5}
    scraped = watched.scrape()
    assert scraped.positive("withheld", "reason", **XY) == {"CLUSTER_UNREACHABLE": 1}
    assert scraped.positive("answers", "state", **XY) == {}


def test_a_new_driver_takes_nothing_for_stale_that_the_last_one_saw_arrive(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(3_600_000)
    watched.restart()
    assert watched.stale() == {}
    watched.site.clusters["Y"].is_down = True
    watched.site.reconciler.reconcile_all(is_first=True)
    watched.note()
    assert watched.stale() == {}
    watched.site.pass_time(2_000)
    assert watched.stale() == {"FAILED": 2}


def test_without_having_seen_it_arrive_a_new_driver_takes_it_for_stale_since_the_commit(watched: Watched) -> None:
    watched.site.clusters["Y"].refused["readers"] = "GROUP_AUTHORIZATION_FAILED"
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(9_000)
    watched.restart()
    assert watched.stale()["FAILED"] == pytest.approx(9, abs=0.1)


def test_what_moves_away_and_comes_back_waits_again(watched: Watched) -> None:
    watched.site.clusters["Y"].refused["readers"] = "GROUP_AUTHORIZATION_FAILED"
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(60_000)
    watched.site.commit("Y", "readers", 8)
    watched.reconcile()
    assert watched.stale() == {}
    watched.site.commit("X", "readers", 9)
    watched.reconcile()
    watched.site.pass_time(1_000)
    assert watched.stale()["FAILED"] == pytest.approx(1, abs=0.1)


def test_a_genuine_commit_further_on_is_up_to_date(watched: Watched) -> None:
    watched.site.commit("Y", "readers", 9)
    watched.site.commit("X", "readers", 2)
    watched.reconcile()
    watched.site.pass_time(60_000)
    assert watched.scrape().positive("positions", "outcome", **XY) == {"NOT_FORWARD": 1}
    assert watched.stale() == {}


def test_what_is_withheld_is_counted_by_reason_and_ages_apart_from_the_rest(watched: Watched) -> None:
    watched.site.clusters["Y"].topics["orders"] = MemoryTopic("recreated")
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(4_000)
    scraped = watched.scrape()
    assert scraped.positive("withheld", "reason", **XY) == {State.TOPIC_RECREATED.name: 1}
    assert set(watched.stale()) == {"WITHHELD"}
    reasons = {state.name for state in State if state.is_withheld}
    assert set(scraped.values("withheld", "reason", **XY)) == reasons


def test_duplicates_are_summed_by_pair_and_by_group_and_only_the_worst_groups_are_named() -> None:
    site = mirrored_site()
    for place in (places := [TopicPartition("pay-1", number) for number in range(2)]):
        # Records of X that a group has read are at Y after records of Y that it has not.
        site.put(log("X", "X0:5 Y0:5"), place, partitions=2)
        site.put(log("Y", "Y0:5 X0:5"), place, partitions=2)
    watched = Watched(site)
    for number in range(6):
        site.commit("X", f"g{number}", number, places[0])
    site.commit("X", "g1", 5, places[1])
    watched.reconcile()
    scraped = watched.scrape()
    assert scraped.values("group_duplicates", "group_id", **XY) == {"g1": 6, "g5": 5, "g4": 4}
    assert scraped.value("duplicates", **XY) == 15 + 5
    assert scraped.value("duplicates_at_most", **XY) == 15 + 5
    assert scraped.value("duplicates_worst", **XY) == 5
    assert scraped.value("lost", **XY) == 0


def test_what_the_target_has_deleted_unread_is_lost() -> None:
    site = mirrored_site()
    place = TopicPartition("pay-1", 0)
    site.put(log("X", "X0:10"), place)
    site.put(log("Y", "X0:10"), place)
    watched = Watched(site)
    site.clusters["Y"].logs[place] = MemoryEnds(7, 10)
    site.commit("X", "readers", 4, place)
    watched.reconcile()
    assert watched.scrape().value("lost", **XY) == 3


def test_only_the_stalest_groups_are_named_however_many_there_are(watched: Watched) -> None:
    for number in range(50):
        watched.site.commit("X", f"group {number}", 4)
        watched.site.pass_time(1_000)
    watched.site.commit("X", 'ev"il\\\n\x00group', 4)
    watched.site.read("X")
    scraped = watched.scrape()
    assert list(scraped.values("group_staleness_seconds", "group_id", **XY)) == ["group 0", "group 1", "group 2"]
    assert scraped.values("positions", "outcome", **XY)["PENDING"] == 51


def test_groups_and_topics_that_are_not_synced_are_nowhere(watched: Watched) -> None:
    watched.site.commit("X", "console-consumer-1", 4)
    watched.site.commit("X", "readers", 4, TopicPartition("other", 0))
    watched.site.read("X")
    assert watched.scrape().positive("positions", "outcome", **XY) == {}
    assert watched.stale() == {}


def test_a_deleted_offset_is_nowhere(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.site.read("X")
    watched.site.clusters["X"].forget("readers", ORDERS)
    watched.site.read("X")
    assert watched.scrape().positive("positions", "outcome", **XY) == {}
