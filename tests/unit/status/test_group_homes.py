"""Groups that two clusters commit: withheld, with both sides named; and partitions that a group has never committed."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.logs import log
from fakes.clusters import GroupOffset
from fakes.reconciler_site import ORDERS, config_of
from fakes.status_site import StatusSite
from generators.hypothesis_strategies import law
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.sync_state import Side
from offset_sync.status.group_homes import from_ranges, reason_of_both, take_in_untold, to_ranges
from offset_sync.status.health import find_notes
from offset_sync.tables.catalog import SYNC_STATUS

NOW_MS = 1_800_000_000_000
SIDES = [Side("dc1", 100, NOW_MS - 3_000), Side("dc2", 60, NOW_MS - 1_000)]
BOTH = "committed at both dc1 (100, 3 s ago) and dc2 (60, 1 s ago) within sync.home_silence: "


def test_both_sides_are_named_with_their_last_commits_and_what_to_do() -> None:
    assert reason_of_both(SIDES, NOW_MS) == f"{BOTH}stop one reader, or decide with cutover"


def twins(at_x: int, at_y: int, **sections: object) -> StatusSite:
    """A group that commits at Y first, and at X after it."""
    site = StatusSite(config_of(["X", "Y"], sync={"home_silence": "5m"}, **sections))
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
def test_one_way_it_is_reported_whichever_side_has_the_newest_commit(is_later: bool) -> None:
    site = twins(8, 3, directions=[["X", "Y"]])
    if is_later:  # as MirrorMaker's group sync does
        site.commit("Y", "g", 3)
    (row,) = site.report()
    assert (row["source_cluster"], row["status"], row["state"]) == ("X", "Withheld", "COMMITTED_AT_BOTH")


OTHER = TopicPartition("orders", 2)


def site_with(partitions: int) -> StatusSite:
    site = StatusSite(config_of(["X", "Y"], status={"stalled_after": "2h"}))
    for alias in "XY":
        site.put(log(alias, "X0:10"), partitions=partitions)
    site.commit("X", "g", 4)
    site.reconciled()
    return site


def test_what_has_no_offset_at_either_cluster_is_named() -> None:
    site = site_with(4)
    assert site.row()["uncommitted"] == "1-3"
    site.clusters["Y"].group_offsets["g", OTHER] = GroupOffset(0, "")
    assert site.row()["uncommitted"] == "1, 3"
    assert site_with(1).row()["uncommitted"] is None


def test_without_an_answer_of_a_coordinator_the_tables_tell() -> None:
    site = site_with(3)
    site.clusters["X"].commit("g", OTHER, 7)
    site.read_all()
    site.refusing = {"g": ClusterError("X", "not coordinated")}
    found = {row["partition"]: row["uncommitted"] for row in site.report()}
    assert found[0] == "1"


@pytest.mark.parametrize("one", ["X", "Y"])
def test_what_one_cluster_alone_has_or_says_counts(one: str) -> None:
    site = site_with(1)
    site.put(log(one, "X0:10"), partitions=2)
    assert site.row()["uncommitted"] == "1"
    site = site_with(3)
    site.clusters[one].is_down = True
    assert site.row()["uncommitted"] == "1-2", "the other one has them"
    for alias in "XY":
        site.clusters[alias].is_down = True
    assert site.row()["uncommitted"] is None


def test_a_report_says_it_once_for_each_group_and_topic() -> None:
    rows = site_with(4).report()
    table = pa.Table.from_pylist([{**row, "source_committed_at": None} for row in rows * 2], SYNC_STATUS.arrow_schema)
    (note,) = find_notes(table)
    assert note == (
        "1 topic with partitions never committed by their group (g: orders 1-3): "
        "cutover apply commits the target's start there"
    )


@law(200)
@given(st.sets(st.integers(0, 40), min_size=1))
def test_ranges_are_read_as_they_are_written(numbers: set[int]) -> None:
    assert from_ranges(to_ranges(sorted(numbers))) == sorted(numbers)


@pytest.mark.parametrize(("held", "home"), [({"X": 5}, "X"), ({"Y": 3}, "Y"), ({"X": 5, "Y": 3}, None)])
def test_what_coordinators_hold_and_no_table_has_is_at_home_there_and_at_two_of_them_of_any_age(
    held: dict[str, int], home: str | None
) -> None:
    site = StatusSite(config_of(["X", "Y"], sync={"home_silence": "5m"}))
    silent = {"other": ClusterError("X", "no answer")}
    take_in_untold(site.state, {alias: {"g": {ORDERS: offset}, **silent} for alias, offset in held.items()})
    rows = site.state.all_rows()
    homes = site.state.homes_of(rows)
    assert [key.group_id for key in site.state.offsets.keys] == ["g"]
    assert homes.is_contested.tolist() == [home is None]
    assert home is None or site.state.rows_of(home, rows).tolist() == rows.tolist()
    for alias, offset in held.items():
        assert site.state.offsets.clusters[alias].position(rows)[0].tolist() == [offset]


def test_what_a_table_has_stays_as_it_is() -> None:
    site = StatusSite(config_of(["X", "Y"]))
    site.commit("X", "g", 5)
    site.read_all()
    take_in_untold(site.state, {"X": {"g": {ORDERS: 7, TopicPartition("new", 0): 1}}})
    rows = site.state.all_rows()
    assert site.state.offsets.clusters["X"].position(rows)[0].tolist() == [5, 1]
