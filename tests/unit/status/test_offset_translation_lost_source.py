"""Offsets of a source that is lost: what the tables remember of it counts, and what cannot be told is withheld."""

from __future__ import annotations

import pytest

from fakes.kept_offsets import kept, said, silent, site_of, translated, why
from fakes.reconciler_site import ORDERS, STARTED_MS
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, Outcome, State


def test_without_the_source_what_the_tables_know_of_it_counts() -> None:
    """The index of X ends at 10; Y has copies up to 12, so the log has been at least that long."""
    site = silent(site_of("Y0:5 X5:10", "Y0:5 X5:13"))
    found = translated(site, kept((ORDERS, 3), (ORDERS, 8), (ORDERS, 13)), is_source_lost=True)
    assert found.target_offset.tolist() == [3, 8, 13]


@pytest.mark.parametrize(
    ("taken_at_ms", "answer"),
    [(ABSENT, ABSENT), (STARTED_MS, ABSENT), (STARTED_MS + CLOCKS_APART_MS, ABSENT), (STARTED_MS + 60_001, 13)],
)
def test_above_all_that_is_known_of_a_lost_source_only_a_later_time_is_believed(taken_at_ms: int, answer: int) -> None:
    site = silent(site_of("Y0:5 X5:10", "Y0:5 X5:13"))
    site.index.logs[ClusterPartition("X", *ORDERS)].complete_until_ms = STARTED_MS
    found = translated(site, kept((ORDERS, 14), taken_at_ms=taken_at_ms), is_source_lost=True)
    assert found.target_offset.tolist() == [answer]
    if answer == ABSENT:
        assert said(found) == [("COMMIT_BEYOND_END", ABSENT)]
        assert "of orders-0 at X nothing is known from 13 on" in why(found)


def test_an_offset_taken_before_a_lost_log_was_read_to_its_end_below_it_is_of_records_that_are_gone() -> None:
    """60 records stood at X, 20 of them not indexed, when an election cut it at 40; ten others came, and were read.

    The offset was taken half a minute before all 50 were read: its clock need not be wrong. The ten are unread.
    """
    site = silent(site_of("X0:50", "X0:50 Y50:55"))
    site.index.logs[ClusterPartition("X", *ORDERS)].complete_until_ms = STARTED_MS
    found = translated(site, kept((ORDERS, 60), taken_at_ms=STARTED_MS - 30_000), is_source_lost=True)
    assert said(found) == [("COMMIT_BEYOND_END", ABSENT)]


def test_a_time_proves_nothing_where_nobody_knows_when_the_lost_log_was_read_to_its_end() -> None:
    site = silent(site_of())
    found = translated(site, kept((ORDERS, 11), taken_at_ms=STARTED_MS), is_source_lost=True)
    assert said(found) == [("COMMIT_BEYOND_END", ABSENT)]
    assert why(found) == "of orders-0 at X nothing is known from 10 on; translate 10, which repeats what came later"


def test_what_a_group_was_withheld_for_goes_on_withholding_when_the_source_is_lost() -> None:
    """A group had committed 8 where the log ended at 6; whether it has grown since nobody knows."""
    site = site_of("X0:6", "X0:10")
    site.commit("X", "readers", 8)
    site.reconcile()
    site.reconcile()
    silent(site)
    found = translated(site, kept((ORDERS, 7), (ORDERS, 8), (ORDERS, 9)), is_source_lost=True)
    assert said(found) == [("EXACT", 7), ("COMMIT_BEYOND_END", ABSENT), ("COMMIT_BEYOND_END", ABSENT)]
    assert "a group's commit that was no higher lay beyond the end" in why(found, 1)
    last = site.state.last("X", "Y")
    last.columns["state"][:] = State.LOG_TRUNCATED
    last.columns["outcome"][:] = Outcome.WITHHELD
    assert said(translated(site, kept((ORDERS, 3)), is_source_lost=True)) == [("LOG_TRUNCATED", ABSENT)]


def test_a_lost_source_of_which_nobody_knows_when_it_was_read_believes_no_offset_without_a_time() -> None:
    site = silent(site_of())
    found = translated(site, kept((ORDERS, 11)), is_source_lost=True)
    assert said(found) == [("COMMIT_BEYOND_END", ABSENT)]


@pytest.mark.parametrize("offset", [1 << 62, (1 << 63) - 1])
def test_an_offset_that_no_log_can_have_is_withheld_whatever_its_time(offset: int) -> None:
    """Records of Y's own that X does not have would count as read."""
    site = silent(site_of("Y0:5 X5:10", "Y0:5 X5:13 Y13:20"))
    found = translated(site, kept((ORDERS, offset), taken_at_ms=STARTED_MS), is_source_lost=True)
    assert said(found) == [("COMMIT_BEYOND_END", ABSENT)]


def test_what_another_driver_was_withheld_for_counts_before_anything_else_was_done() -> None:
    """As a command finds it: groups and the last answers are restored, and nothing was translated yet."""
    site = site_of("X0:6", "X0:10")
    site.commit("X", "readers", 8)
    site.restart()
    site.read_all()
    last = site.state.last("X", "Y")
    last.columns["source_offset"][:] = 8
    last.columns["state"][:] = State.COMMIT_BEYOND_END
    found = translated(silent(site), kept((ORDERS, 8)), is_source_lost=True)
    assert said(found) == [("COMMIT_BEYOND_END", ABSENT)]
