"""One home per group and topic: what is brought where, while two clusters are active, and after a move."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds
from fakes.next_driver import begin_again_by_the_tables
from fakes.reconciler_site import ORDERS, Site, mirrored_site
from offset_sync.model.values import Rule, TopicPartition
from offset_sync.state.group_homes import Move

MINUTE_MS = 60_000
SILENCE_MS = 5 * MINUTE_MS
SECOND = TopicPartition("orders", 1)


@pytest.fixture
def site() -> Site:
    """X produces ten records that Y and Z have two offsets higher; a cluster is silent after five minutes."""
    return mirrored_site("Y", "Z", sync={"home_silence": "5m", "refresh_interval": "1d"})


def held(site: Site, place: TopicPartition = ORDERS) -> list[int | None]:
    """Return what is committed at X, Y and Z."""
    return [site.target_offset(alias, "g", place) for alias in "XYZ"]


def told(site: Site) -> dict[tuple[str, str], tuple[str, str]]:
    """Return state and outcome of the group by source and target, of the last pass."""
    site.reconciliations.clear()
    site.reconcile()
    rows = [row for number in range(len(site.reconciliations)) for row in site.rows(number)]
    return {(row.source, row.target): (row.state, row.outcome) for row in rows}


def move(site: Site, alias: str) -> None:
    """Have ``cutover`` move the group."""
    site.pass_time(1)
    site.state.homes.note_moves([Move("g", "orders", alias, site.clock_ms[0])])


def read_at_both(site: Site) -> None:
    """Have a reader at X and another one of the same group at Y, a minute apart."""
    site.commit("X", "g", 5)
    site.pass_time(MINUTE_MS)
    site.commit("Y", "g", 9)


AT_BOTH = {("Y", "X"): ("COMMITTED_AT_BOTH", "WITHHELD"), ("Y", "Z"): ("COMMITTED_AT_BOTH", "WITHHELD")}


def test_while_two_clusters_are_active_a_row_says_so_and_nothing_is_written_at_any(site: Site) -> None:
    read_at_both(site)
    assert told(site) == AT_BOTH
    for offset in (6, 7):
        site.pass_time(MINUTE_MS)
        site.commit("X", "g", offset)
        site.commit("Y", "g", offset + 4)
        assert set(told(site).values()) == {("COMMITTED_AT_BOTH", "WITHHELD")}
    assert (site.asked, held(site)) == ([], [7, 11, None])


def test_nothing_is_refreshed_while_two_clusters_are_active(site: Site) -> None:
    site.commit("X", "g", 5)
    site.reconciled()
    site.pass_time(2 * 24 * 60 * MINUTE_MS)
    site.state.homes.note_members("X", {"g"}, site.clock_ms[0])
    site.commit("Y", "g", 9)
    for _ in range(3):
        site.reconcile()
    assert (site.asked, held(site)) == ([], [5, 9, 7])


def test_what_was_answered_and_settled_is_at_both_once_another_cluster_is_active(site: Site) -> None:
    site.commit("X", "g", 5)
    site.reconciled()
    site.commit("Y", "g", 9)
    assert told(site) == AT_BOTH


def test_a_group_whose_id_is_a_share_group_at_the_target_is_withheld_there_as_long_as_it_is(site: Site) -> None:
    site.state.share_groups = {"Y": {"g"}, "X": {"other"}}
    site.commit("X", "g", 5)
    assert told(site) == {("X", "Y"): ("SHARE_GROUP", "WITHHELD"), ("X", "Z"): ("EXACT", "COMMITTED")}
    assert "Y" not in site.asked
    site.state.share_groups = {}
    assert told(site)["X", "Y"] == ("EXACT", "COMMITTED")


def test_other_groups_and_topics_go_on(site: Site) -> None:
    pay = TopicPartition("pay-1", 0)
    for alias, text in (("X", "X0:10"), ("Y", ". . X0:10"), ("Z", ". . X0:10")):
        site.put(log(alias, text), pay)
    read_at_both(site)
    site.commit("X", "g", 3, pay)
    site.commit("X", "other", 3)
    site.reconcile()
    assert held(site, pay) == [3, 5, 5]
    assert site.target_offset("Y", "other") == 5


def test_silence_ends_it_in_the_next_pass(site: Site) -> None:
    read_at_both(site)
    assert told(site) == AT_BOTH
    site.pass_time(SILENCE_MS - MINUTE_MS - 1_000)
    assert told(site) == AT_BOTH
    site.pass_time(2_000)
    assert told(site) == {("Y", "X"): ("EXACT", "COMMITTED"), ("Y", "Z"): ("EXACT", "COMMITTED")}
    assert held(site) == [7, 9, 9]


def test_members_at_one_of_them_keep_it_from_ending(site: Site) -> None:
    read_at_both(site)
    site.state.homes.note_members("X", {"g"}, site.clock_ms[0])
    site.pass_time(SILENCE_MS - 1_000)
    assert set(told(site).values()) == {("COMMITTED_AT_BOTH", "WITHHELD")}
    site.commit("Y", "g", 9)
    site.state.homes.note_members("X", set(), site.clock_ms[0])
    site.pass_time(SILENCE_MS + 2_000)
    told(site)
    assert held(site) == [7, 9, 9]


@pytest.mark.parametrize(("to", "wanted"), [("X", [5, 9, 7]), ("Y", [7, 9, 9])])
def test_a_move_ends_it_at_once_and_goes_over_nothing_that_is_ahead(
    site: Site, to: str, wanted: list[int | None]
) -> None:
    read_at_both(site)
    assert told(site) == AT_BOTH
    move(site, to)
    told(site)
    assert held(site) == wanted


def test_a_tool_that_alters_offsets_at_a_target_moves_no_group_at_the_home(site: Site) -> None:
    """Another tool writes there every few seconds, ahead of the group and behind it, with our metadata."""
    site.commit("X", "g", 6)
    site.reconciled()
    site.state.homes.note_members("X", {"g"}, site.clock_ms[0])
    for offset in (11, 3, 10):
        site.pass_time(2_000)
        site.commit("Y", "g", offset, metadata="offset-sync")
        site.commit("X", "g", 6)
        site.reconcile()
        assert site.target_offset("X", "g") == 6
    assert [target for target, _ in site.asked] == []


# Resets at a target


def test_a_reset_at_a_target_is_followed_where_the_home_is_silent(site: Site) -> None:
    site.commit("X", "g", 8)
    site.reconciled()
    assert held(site) == [8, 10, 10]
    site.pass_time(SILENCE_MS)
    site.commit("Y", "g", 4)
    site.pass_time(3_000)
    assert told(site)["Y", "X"] == ("REWIND", "COMMITTED")
    assert held(site) == [2, 4, 4]
    assert {(target, write.rule) for target, write in site.asked} == {("X", Rule.FOLLOW), ("Z", Rule.SET)}


@pytest.mark.parametrize("is_by_members", [False, True])
def test_a_reset_at_a_target_is_a_second_reader_where_the_home_is_not_silent(site: Site, is_by_members: bool) -> None:
    site.commit("X", "g", 8)
    site.reconciled()
    if is_by_members:
        site.pass_time(30 * SILENCE_MS)
        site.state.homes.note_members("X", {"g"}, site.clock_ms[0])
    site.commit("Y", "g", 4)
    assert set(told(site).values()) == {("COMMITTED_AT_BOTH", "WITHHELD")}
    assert held(site) == [8, 4, 10]


def test_a_group_that_was_reset_to_what_we_had_written_is_at_home_there(site: Site) -> None:
    """It read on from our 10 to 12 and went back to 10: a second record of that value, which we did not write."""
    site.commit("X", "g", 8)
    site.reconciled()
    site.pass_time(SILENCE_MS + 3_000)
    for offset in (12, 10):
        site.commit("Y", "g", offset)
        told(site)
    assert held(site) == [8, 10, 10]
    site.commit("Y", "g", 11)
    told(site)
    assert held(site) == [9, 11, 11]


def test_a_commit_that_is_read_again_after_a_restart_makes_its_cluster_no_home(site: Site) -> None:
    """A micro-batch that had not ended comes again: of our older writes in it nothing tells any more that they are."""
    for offset in (4, 6):
        site.commit("X", "g", offset)
        site.reconcile()
    site.read_all()
    site.position["Y"] = 0
    site.read_all()
    assert {source for source, _ in told(site)} == {"X"}
    site.commit("X", "g", 7)
    told(site)
    assert held(site) == [7, 9, 9]


def test_writes_that_the_driver_before_has_left_unread_make_no_second_home(site: Site) -> None:
    for offset in (4, 5, 6):
        site.commit("X", "g", offset)
        site.read("X")
        site.reconciler.reconcile_all()
    assert held(site) == [6, 8, 8]
    begin_again_by_the_tables(site)
    assert {source for source, _ in told(site)} == {"X"}
    site.commit("X", "g", 7)
    assert set(told(site).values()) == {("EXACT", "COMMITTED")}
    site.commit("Y", "g", 9)  # what we wrote there, once more: a reader
    assert set(told(site).values()) == {("COMMITTED_AT_BOTH", "WITHHELD")}


# Moves


@pytest.fixture
def two_partitions(site: Site) -> Site:
    for alias, text in (("X", "X0:10"), ("Y", ". . X0:10"), ("Z", ". . X0:10")):
        site.put(log(alias, text), SECOND, topic_id=f"orders at {alias}", partitions=2)
    site.commit("X", "g", 5)
    site.commit("X", "g", 4, SECOND)
    site.reconcile()
    assert (held(site), held(site, SECOND)) == ([5, 7, 7], [4, 6, 6])
    return site


def test_after_a_move_idle_partitions_stay_and_what_is_deleted_of_them_waits_for_a_commit(two_partitions: Site) -> None:
    """What was brought may have been raised to the log start of the home."""
    site = two_partitions
    move(site, "Y")
    site.commit("Y", "g", 9)
    told(site)
    assert (held(site), held(site, SECOND)) == ([7, 9, 9], [4, 6, 6])
    site.clusters["Z"].forget("g", SECOND)  # expired, or deleted
    told(site)
    assert held(site, SECOND) == [4, 6, None]
    site.commit("Y", "g", 6, SECOND)
    told(site)
    assert held(site, SECOND) == [4, 6, 6]


def test_after_a_move_what_the_cluster_that_was_left_deletes_stays_at_the_new_home(two_partitions: Site) -> None:
    site = two_partitions
    move(site, "Y")
    site.reconcile()
    for place in (ORDERS, SECOND):
        site.clusters["X"].forget("g", place)
    for _ in range(3):
        site.reconcile()
    assert [site.target_offset("Y", "g", place) for place in (ORDERS, SECOND)] == [7, 6]
    assert [site.target_offset("Z", "g", place) for place in (ORDERS, SECOND)] == [7, 6]


# Deletions


DAY_MS = 24 * 60 * MINUTE_MS


def refreshed(site: Site) -> list[str]:
    """Pass the interval at which offsets are refreshed; return where that was done."""
    site.pass_time(DAY_MS + 1)
    site.asked.clear()
    for _ in range(2):
        site.reconcile()
    assert all(write.refresh for _, write in site.asked)
    return sorted(target for target, _ in site.asked)


def test_what_was_deleted_together_with_its_topic_stays_at_the_targets_and_is_refreshed(site: Site) -> None:
    site.commit("X", "g", 5)
    site.reconciled()
    del site.clusters["X"].topics["orders"]
    site.clusters["X"].forget("g", ORDERS)
    assert set(told(site).values()) == {("TOPIC_MISSING", "WITHHELD")}
    assert held(site) == [None, 7, 7]
    for _ in range(2):
        assert refreshed(site) == ["Y", "Z"]
    site.clusters["X"].is_down = True
    assert refreshed(site) == ["Y", "Z"], "the source that said so is gone by now"
    assert held(site) == [None, 7, 7]


def test_what_the_group_has_deleted_is_refreshed_nowhere(site: Site) -> None:
    site.commit("X", "g", 5)
    site.reconciled()
    site.clusters["X"].forget("g", ORDERS)
    assert refreshed(site) == []
    assert held(site) == [None, 7, 7], "it expires there"
    site.commit("X", "g", 6)
    told(site)
    assert held(site) == [6, 8, 8]


# The leader epoch that is committed


def epochs(site: Site) -> dict[str, tuple[int, int | None]]:
    """Return what was written last at each target, and the leader epoch with it."""
    return {target: (write.offset, write.leader_epoch) for target, write in site.asked}


def lead(site: Site, alias: str, end: int, leader_epoch: int | None) -> None:
    site.clusters[alias].logs[ORDERS] = MemoryEnds(0, end, leader_epoch)


def test_a_write_carries_the_leader_epoch_under_which_the_targets_log_reaches_the_answer(site: Site) -> None:
    lead(site, "X", 10, 3)
    lead(site, "Y", 12, 7)
    site.commit("X", "g", 10)
    site.reconcile()
    assert epochs(site) == {"Y": (12, 7), "Z": (12, None)}
    lead(site, "Y", 12, 8)
    site.commit("X", "g", 4)
    site.reconcile()
    assert epochs(site)["Y"] == (6, 8)


@pytest.mark.parametrize(("end", "epoch"), [(12, 9), (7, 9), (6, None)])
def test_what_is_refreshed_after_its_topic_was_deleted_carries_it_too_unless_the_targets_log_was_cut(
    site: Site, end: int, epoch: int | None
) -> None:
    lead(site, "Y", 12, 8)
    site.commit("X", "g", 5)
    site.reconciled()
    del site.clusters["X"].topics["orders"]
    site.clusters["X"].forget("g", ORDERS)
    site.reconcile()
    lead(site, "Y", end, 9)
    refreshed(site)
    assert epochs(site).get("Y") == (7, epoch)
