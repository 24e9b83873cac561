"""Moves by read lists while sync_offsets runs beside the command: what is on a list, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from builders.logs import log
from fakes.moves import FakeClusters, Move
from fakes.next_driver import begin_again_by_the_tables
from fakes.read_list_site import EPOCH, told
from fakes.reconciler_site import ORDERS, Site, config_of
from fakes.second_writer import Command
from offset_sync.cutover.crossed import UNKNOWN, ArrivedPartition, CrossedPartition
from offset_sync.cutover.plan import Options
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, GroupPartition
from offset_sync.sync import crossings
from offset_sync.sync.read_lists import REPLACED
from oracles.translation import Log


def site_of(at_x: str, at_y: str | Log) -> Site:
    """Return X and Y with these logs; the group readers gets lists."""
    found = Site(config_of(["X", "Y"], sync={"read_lists": {"groups": ["readers"]}, "refresh_interval": "1h"}))
    found.put(log("X", at_x))
    found.put(log("Y", at_y) if isinstance(at_y, str) else at_y)
    for alias in "XY":
        found.index.epochs[ClusterPartition(alias, *ORDERS)] = (f"orders at {alias}", EPOCH)
    return found


def test_what_a_command_has_brought_past_the_start_of_a_log_is_on_no_list_of_the_cluster_it_came_from() -> None:
    site = site_of("X0 X1 Y0 Y1 X2", log("Y", "Y0 Y1 X0 X1 X2", log_start=2))
    site.commit("X", "readers", 2)
    Command(site, "X", "Y").move()  # before sync_offsets has answered; Y0 and Y1 have expired at Y, unread
    site.reconcile()
    site.reconcile()
    assert (site.target_offset("X", "readers"), site.target_offset("Y", "readers")) == (2, 2)
    assert told(site, "X") in (None, (0, []))  # with [2, 4) a consumer at X skips Y0 and Y1 for ever


def test_a_start_that_a_command_has_committed_for_a_partition_never_read_puts_nothing_on_a_list() -> None:
    site = site_of("X0 Y0 Y1 X1", log("Y", "Y0 Y1 X0 X1", log_start=2))
    command = Command(site, "X", "Y")
    command.clusters.commit_starts([GroupPartition("readers", *ORDERS)])
    command.make_home()
    site.reconcile()
    site.reconcile()
    assert told(site, "X") in (None, (0, []))  # no group has read Y0 and Y1


def test_a_command_that_has_not_seen_a_reset_writes_no_list_over_the_one_that_was_written_for_it() -> None:
    site = site_of("X0 X1 X2 X3 X4", "Y0 X0 X1 X2 X3 X4")
    site.commit("X", "readers", 2)
    site.reconcile()
    site.commit("X", "readers", 4)
    command = Command(site, "X", "Y")
    command.look()
    site.commit("X", "readers", 1)  # reset; sync_offsets knows it, and the offset at Y is right
    site.reconcile()
    assert told(site) == (0, [(1, 2)])
    command.commit()  # and is killed
    for _ in range(5):
        site.pass_time(60_000)
        site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (0, (0, [(1, 2)]))


def test_a_position_that_was_deleted_at_the_source_has_no_list_to_wait_for() -> None:
    site = site_of("X0 X1 X2 Y0 X3", "Y0 X0 Y1 X1")
    site.commit("X", "readers", 3)
    site.reconcile()
    assert [each.missing for each in Command(site, "X", "Y").look()] == [1]
    site.pass_time(5)
    site.clusters["X"].forget("readers", ORDERS)
    site.reconcile()
    assert Command(site, "X", "Y").look() == []


def test_what_the_source_has_not_indexed_is_told_apart_in_a_disaster_and_the_source_is_not_asked() -> None:
    site = site_of("X0 X1 Y0 X2", "Y0 X0 X1")
    site.commit("X", "readers", 6)
    site.reconcile()
    command = Command(site, "X", "Y")
    site.clusters["X"].is_down = True
    (found,) = command.clusters.crossed(["readers"], asks_source=False)["readers"]
    assert (found.unindexed, found.missing - found.unindexed, found.until) == (2, 1, UNKNOWN)


def test_a_group_that_is_not_named_is_not_looked_at() -> None:
    site = site_of("X0 X1", "Y0 X0 X1")
    site.commit("X", "others", 2)
    site.reconcile()
    command = Command(site, "X", "Y")
    assert command.clusters.crossed(["others"]) == {}


def test_what_a_command_decides_of_a_home_makes_the_position_there_no_move() -> None:
    site = site_of("X0 X1 X2", "Y0 X0 X1")
    site.commit("X", "readers", 2)
    site.reconcile()
    command = Command(site, "X", "Y")  # verifies a move that was made before
    command.decide()
    (found,) = command.look()
    assert (found.skipped, found.problem("Y", is_at_cost=False)) == (2, None)


def test_a_command_writes_no_list_of_a_group_whose_home_it_decides() -> None:
    site = site_of("X0 X1 X2", "Y0 X0 X1")
    site.commit("X", "readers", 2)
    command = Command(site, "X", "Y")
    command.decide()
    (done,) = command.commit()
    assert (done.is_held, site.target_offset("Y", "readers"), told(site)) == (True, 0, None)


def test_where_sync_offsets_has_replaced_the_list_meanwhile_the_answer_of_a_command_waits_once() -> None:
    site = site_of("X0 X1 Y0 X2 X3 X4 Y2", "X0 Y0 X1 Y1 X2 X3 Y2 X4")
    site.commit("X", "readers", 2)
    site.reconcile()
    site.commit("X", "readers", 5)
    command = Command(site, "X", "Y")
    command.look()
    site.reconcile()
    (first,) = command.commit()
    assert (first.error, first.is_held) == (REPLACED, False)
    (second,) = command.commit()
    assert (second.error, second.is_held) == (None, True)


def test_a_list_that_a_command_has_written_is_not_taken_away_because_an_older_one_is_passed() -> None:
    site = site_of("X0 X1 Y0 X2 X3 X4 Y2", "X0 Y0 X1 Y1 X2 X3 Y2 X4")
    site.commit("X", "readers", 2)
    site.reconcile()
    assert told(site) == (1, [(2, 3)])
    site.commit("X", "readers", 5)
    Command(site, "X", "Y").move()  # before sync_offsets has answered
    assert told(site) == (3, [(4, 6), (7, 8)])
    site.reconcile()
    assert told(site) == (3, [(4, 6), (7, 8)])


def test_a_restart_leaves_the_list_of_a_move_though_the_group_was_reset_long_before() -> None:
    site = site_of("X0 X1 Y0 X2 X3 X4", "Y0 X0 Y1 X1 X2")
    for offset in (2, 1):  # reset once, years ago
        site.commit("X", "readers", offset)
        site.reconcile()
    site.pass_time(10_000_000)
    site.commit("X", "readers", 2)
    site.reconcile()
    command = Command(site, "X", "Y")
    command.move()
    site.reconcile()
    assert told(site) == (0, [(1, 2), (3, 4)])
    begin_again_by_the_tables(site)
    command.make_home()
    site.reconcile(is_first=True)
    assert told(site) == (0, [(1, 2), (3, 4)])


def test_a_record_that_was_never_at_the_source_is_not_one_that_would_be_repeated() -> None:
    site = site_of("X0 X1 Y4 X3", "X3 X0 X1 Y3 Y4")  # Y3 was dropped an hour ago: the group has never read it
    site.commit("X", "readers", 3)
    (found,) = Command(site, "X", "Y").look()
    assert (found.skipped, found.repeated) == (3, 0)


def test_a_copy_that_cannot_be_told_may_be_repeated_and_is_said_to_be() -> None:
    site = site_of("X0 X1 X2", "? X1 X2")
    site.commit("X", "readers", 2)
    (found,) = Command(site, "X", "Y").look()
    assert found.repeated == 1  # as `plan` without --skip-read says: at most 2 duplicates, 1 of them on the list


def test_what_could_not_be_found_out_is_not_taken_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: Any, **_named: Any) -> Mapping[int, Any]:
        raise RuntimeError("a page that cannot be read")

    site = site_of("X0 X1 X2", "Y0 X0")
    site.commit("X", "readers", 2)
    (found,) = Command(site, "X", "Y").look()
    assert found.missing == 1
    monkeypatch.setattr(crossings, "pending", fail)
    site = site_of("X0 X1 X2", "X0 Y0")
    site.commit("X", "readers", 2)
    (found,) = Command(site, "X", "Y").look()
    assert found.problem("Y", is_at_cost=False) is not None


def test_the_list_of_a_move_after_a_reset_is_not_taken_away_for_what_the_command_itself_has_set_back() -> None:
    site = site_of("X0 X1 Y1 X3 Y0", "X0 Y0 X1 Y1 X3")
    site.commit("X", "readers", 5)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 5
    site.commit("X", "readers", 2)  # reset, and moved before sync_offsets has answered
    Command(site, "X", "Y").move()
    assert (site.target_offset("Y", "readers"), told(site)) == (1, (1, [(2, 3)]))
    site.reconcile()
    assert told(site) == (1, [(2, 3)])


@pytest.mark.parametrize("is_running", [True, False])
def test_a_group_that_has_read_nothing_since_its_move_stays_until_it_is_past_its_list(is_running: bool) -> None:
    site = site_of("X0 X1 Y0 X3 Y3 X5 X6 Y4 Y6", "Y0 X0 X1 Y3 Y4 X3 Y6 X5 X6")
    site.commit("X", "readers", 6)
    site.reconcile()
    Command(site, "X", "Y").move()
    for _ in range(3):
        (found,) = Command(site, "Y", "X").look()
        assert "skip up to 8 at Y" in (found.reason_to_stay("Y", needs_proof=False, is_at_cost=True) or "")
        if not is_running:
            begin_again_by_the_tables(site)
        site.reconcile()
        held = site.target_offset("X", "readers"), site.target_offset("Y", "readers")
        assert (*held, told(site)) == (6, 4, (4, [(5, 6), (7, 8)]))  # the answer to 4 at Y is 3
        assert site.offsets.column("rewound_ms").max() == -1
    site.commit("Y", "readers", 9)
    command = Command(site, "Y", "X")
    (found,) = command.look()
    assert found.reason_to_stay("Y", needs_proof=False, is_at_cost=True) is None
    command.move()
    site.reconcile()
    assert (site.target_offset("X", "readers"), site.offsets.column("rewound_ms").max()) == (9, -1)


def test_a_group_that_has_just_passed_its_list_is_waited_for() -> None:
    read = CrossedPartition(GroupPartition("g", *ORDERS), 5, 2, 0, text="list", held="list", seen=5)
    behind = replace(read, source_offset=3, until=5)  # its last commit, 5, comes within a second
    options = Options(has_read_lists=True)
    assert Move(FakeClusters(lists=[[read]]), options=options).apply() == []
    assert Move(FakeClusters(lists=[[behind], [read]]), options=options).apply() == []


def test_verify_without_proof_asks_for_no_marks_of_a_group_that_has_gone_on() -> None:
    arrived = ArrivedPartition(GroupPartition("g", *ORDERS), 2, is_used=False, until=None)
    options = Options(has_read_lists=True, is_unproven=True)
    move = Move(FakeClusters(rows=[[]], lists=[[]], moved=[arrived]), options=options)
    assert move.cutover.verify(["g"]) == []


def test_a_group_stays_while_it_is_unknown_whether_it_still_skips_at_the_source() -> None:
    site = site_of("X0 X1 X2", "Y0 X0 X1")
    site.commit("X", "readers", 2)
    site.reconcile()
    command, ask = Command(site, "X", "Y"), site.clusters["X"].committed_offsets

    def silent(groups: Sequence[str], deadline: float) -> Mapping[str, Any]:
        refused = ClusterError("X", "the coordinator does not answer")
        return {**ask(groups, deadline), **{each: refused for each in groups if ".read." in each}}

    site.clusters["X"].committed_offsets = silent  # type: ignore[method-assign]
    (found,) = command.look()
    assert found.reason_to_stay("X", needs_proof=False, is_at_cost=False) is not None
