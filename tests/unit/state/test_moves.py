"""Groups that ``cutover`` has moved: followed from the table, by our clock and not by that of who moved them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fakes.reconciler_site import Site, mirrored_site
from offset_sync.model.values import GroupPartition, Outcome
from offset_sync.state.cluster_clock import to_datetime
from offset_sync.state.moves import BEGUN, HOME, Moves
from offset_sync.tables.catalog import CUTOVERS

HOUR_MS = 3_600_000
KEY = GroupPartition("g", "orders", 0)


def step(site: Site, at_ms: int, **columns: Any) -> None:
    """Have a command write a row about the group g."""
    row = {"cutover_id": "one", "group_id": "g", "stream": "orders", "target_cluster": "Y", **columns}
    row["at"] = to_datetime(at_ms)
    site.tables.append(CUTOVERS, pa.Table.from_pylist([row], CUTOVERS.arrow_schema))


def home(site: Site) -> str:
    return "XY"[int(site.state.homes_of(site.offsets.ids([KEY])).home[0])]


@pytest.mark.parametrize("skew_ms", [-HOUR_MS, 0, HOUR_MS])
def test_when_a_move_was_is_known_though_the_other_machines_clock_is_wrong(skew_ms: int) -> None:
    """It happened when it was noticed at work, by which the group commits at X; the next driver has the row."""
    site = mirrored_site("Y", sync={"home_silence": "5m"})
    moves = Moves(site.tables)
    moves.follow(site.state)
    site.commit("X", "g", 3)
    site.read_all()
    moved_ms = site.clock_ms[0]
    step(site, moved_ms + skew_ms, step=HOME, result="done")
    assert moves.follow(site.state)
    assert not moves.follow(site.state)
    assert home(site) == "Y"
    site.pass_time(HOUR_MS // 2)
    site.restart()
    last_ms = site.clock_ms[0]
    assert site.state.homes.moved_ms(site.offsets.ids([KEY]), "Y").tolist() == [min(moved_ms + skew_ms, last_ms)]
    site.commit("X", "g", 4)
    site.read_all()
    assert home(site) == "X"


@pytest.mark.parametrize("is_live", [True, False], ids=["by a running driver", "by one that starts"])
@pytest.mark.parametrize("is_begun", [True, False])
def test_what_a_command_has_committed_is_ours_in_whatever_way_it_ended(is_live: bool, is_begun: bool) -> None:
    """It was killed after it had committed 9 at Y: the group stays at home at X, and Y gets the answer again."""
    site = mirrored_site("Y", sync={"home_silence": "5m"})
    site.commit("X", "g", 5)
    site.read_all()
    if not is_live:
        site.moves = Moves(site.tables)
    if is_begun:
        step(site, site.clock_ms[0], step="commit", result=BEGUN, partition=0, target_offset=9)
    site.commit("Y", "g", 9)
    site.read_all()
    site.pass_time(HOUR_MS)
    site.reconciled()
    assert (home(site), site.target_offset("Y", "g")) == (("X", 7) if is_begun else ("Y", 9))
    assert (site.offsets.clusters["Y"].columns["rewound_ms"][site.offsets.ids([KEY])] < 0).all()


def test_a_commit_of_the_value_that_is_being_written_here_too_is_one_of_a_command() -> None:
    site, looks = mirrored_site("Y"), list[int]()
    site.state.before_foreign = lambda: looks.append(site.clock_ms[0])
    site.commit("X", "g", 5)
    site.read_all()
    for _ in range(2):
        site.commit("Y", "g", 7)
    site.offsets.clusters["Y"].own_writes.begin(site.offsets.ids([KEY]), np.array([7]))
    site.read_all()
    assert len(looks) == 1


def test_a_home_that_is_left_is_told_again_after_a_command_that_has_answered_it_too() -> None:
    """Its rows are newer than ours, by which the source is not the home."""
    site = mirrored_site("Y")
    site.commit("X", "g", 5)
    site.reconcile()
    site.commit("Y", "g", 9)
    site.reconcile()
    site.reconciliations.clear()
    row = {"step": "commit", "result": "done", "source_cluster": "X", "partition": 0, "target_offset": 9}
    step(site, site.clock_ms[0], **row)
    site.moves.follow(site.state)
    for _ in range(2):
        site.reconcile()
    gone = [each for each in site.reconciliations if Outcome.GONE in each.outcome]
    assert [(each.translated.source, each.translated.target) for each in gone] == [("X", "Y")]
