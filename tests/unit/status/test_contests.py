"""A group that two clusters commit: withheld in every report, with both sides named."""

from __future__ import annotations

import pytest

from builders.logs import log
from builders.mirror_checkpoints import MemoryCheckpoints, checkpoint, checkpoints_at
from fakes.reconciler_site import config_of
from fakes.status_site import StatusSite
from offset_sync.state.sync_state import Side
from offset_sync.status.contests import reason_of_both

NOW_MS = 1_800_000_000_000
SIDES = [Side("dc1", 100, NOW_MS - 3_000), Side("dc2", 60, NOW_MS - 1_000)]
BOTH = "committed at both dc1 (100, 3 s ago) and dc2 (60, 1 s ago) within sync.home_silence: "


def test_both_sides_are_named_with_their_last_commits_and_what_to_do() -> None:
    assert reason_of_both(SIDES, NOW_MS) == f"{BOTH}stop one reader, or decide with cutover"


def test_mirror_makers_group_sync_is_named_where_it_has_said_just_that() -> None:
    expected = f"{BOTH}written by MirrorMaker's group sync at dc2: set sync.group.offsets.enabled = false"
    assert reason_of_both(SIDES, NOW_MS, ["dc2"]) == expected


def test_times_to_come_and_offsets_that_are_gone_can_be_told() -> None:
    text = reason_of_both([Side("dc1", -1, NOW_MS + 50), SIDES[1]], NOW_MS)
    assert text.startswith("committed at both dc1 (nothing, 0 s ago) and dc2 (60, 1 s ago)")


def twins(at_x: int, at_y: int) -> StatusSite:
    """A group that commits at Y first, and at X after it."""
    site = StatusSite(config_of(["X", "Y"], sync={"home_silence": "5m"}))
    for alias in "XY":
        site.put(log(alias, "X0:10"))
    site.commit("Y", "g", at_y)
    site.pass_time(2_999)
    site.commit("X", "g", at_x)
    return site


def test_a_report_withholds_it_and_costs_are_not_known() -> None:
    site = twins(8, 3)
    (row,) = site.report()
    assert (row["source_cluster"], row["status"], row["state"]) == ("X", "Withheld", "COMMITTED_AT_BOTH")
    assert row["reason"].startswith("committed at both X (8, 0 s ago) and Y (3, 3 s ago) within sync.home_silence")
    assert (row["wanted_offset"], row["duplicates"], row["lost"]) == (None, None, None)


@pytest.mark.parametrize("is_later", [True, False])
@pytest.mark.parametrize(("said", "is_named"), [(3, True), (4, False)])
def test_a_checkpoint_with_that_very_offset_names_mirror_maker(said: int, is_named: bool, is_later: bool) -> None:
    site = twins(8, 3)
    if is_later:  # so that Y looks like the home
        site.commit("Y", "g", 3)
    checkpoints = MemoryCheckpoints([checkpoint(said, site.clock_ms[0])])
    site.checkpoints["Y"] = checkpoints_at("Y", {"X": [checkpoints]})
    site.checkpoints["Y"].refresh(1.0)
    (row,) = site.report()
    # Where MirrorMaker is named the group reads at the other one, and its offset is compared with ours.
    assert row["source_cluster"] == ("Y" if is_later and not is_named else "X")
    assert row["mirror_maker_behind"] == (5 if is_named else 4 if row["source_cluster"] == "X" else None)
    assert ("written by MirrorMaker's group sync at Y: set sync" in row["reason"]) == is_named
    assert row["mirror_maker_doubt"] == ("written by MirrorMaker's group sync at Y" if is_named else None)
