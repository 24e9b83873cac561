"""Moves by read lists while sync_offsets runs beside the command: what is on a list, and what is said of it."""

from __future__ import annotations

from fakes.read_list_site import listed_site, told
from fakes.second_writer import Command
from offset_sync.cutover.crossed import UNKNOWN
from offset_sync.sync.read_lists import REPLACED


def test_a_command_that_has_not_seen_a_reset_writes_no_list_over_the_one_that_was_written_for_it() -> None:
    site = listed_site(at_x="X0 X1 X2 X3 X4", at_y="Y0 X0 X1 X2 X3 X4")
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


def test_what_the_source_has_not_indexed_is_missing_and_a_source_that_is_silent_may_hold_any_list() -> None:
    site = listed_site(at_x="X0 X1 Y0 X2", at_y="Y0 X0 X1")
    site.commit("X", "readers", 6)
    site.reconcile()
    command = Command(site, "X", "Y")
    site.clusters["X"].is_down = True
    (found,) = command.clusters.crossed(["readers"])
    assert (found.missing, found.until) == (3, UNKNOWN)


def test_a_group_that_has_gone_on_at_the_target_has_no_list_to_look_at() -> None:
    site = listed_site()
    site.commit("Y", "readers", 2)
    assert Command(site, "X", "Y").look() == []


def test_where_sync_offsets_has_replaced_the_list_meanwhile_the_answer_of_a_command_waits_once() -> None:
    site = listed_site(at_x="X0 X1 Y0 X2 X3 X4 Y2", at_y="X0 Y0 X1 Y1 X2 X3 Y2 X4")
    site.commit("X", "readers", 2)
    site.reconcile()
    site.commit("X", "readers", 5)
    command = Command(site, "X", "Y")
    command.look()
    site.reconcile()
    (first,) = command.commit()
    assert (first.detail, first.is_done) == (REPLACED, False)
    (second,) = command.commit()
    assert second.is_done
