"""Partitions of a topic that its group has never committed are named, by what both clusters hold."""

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
from offset_sync.status.health import find_notes
from offset_sync.status.uncommitted import from_ranges, to_ranges
from offset_sync.tables.report_tables import SYNC_STATUS

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


@pytest.mark.parametrize("silent", ["X", "Y"])
def test_one_that_does_not_answer_is_as_the_index_knows_it(silent: str) -> None:
    site = site_with(3)
    site.clusters[silent].is_down = True
    assert site.row()["uncommitted"] == "1-2", "the other one has them"
    for alias in "XY":
        site.clusters[alias].is_down = True
    assert site.row()["uncommitted"] is None


@pytest.mark.parametrize("longer", ["X", "Y"])
def test_a_partition_that_only_one_of_the_clusters_has_is_named(longer: str) -> None:
    site = site_with(1)
    site.put(log(longer, "X0:10"), partitions=2)
    assert site.row()["uncommitted"] == "1"


def test_a_report_says_it_once_for_each_group_and_topic() -> None:
    rows = site_with(4).report()
    table = pa.Table.from_pylist([{**row, "source_committed_at": None} for row in rows * 2], SYNC_STATUS.arrow_schema)
    (note,) = find_notes(table)
    assert note == (
        "1 topic of groups with partitions that they never committed (g: orders 1-3): "
        "cutover apply commits the target's start there"
    )


@law(200)
@given(st.sets(st.integers(0, 40), min_size=1))
def test_ranges_are_read_as_they_are_written(numbers: set[int]) -> None:
    assert from_ranges(to_ranges(sorted(numbers))) == sorted(numbers)


@pytest.mark.parametrize(("numbers", "text"), [([1], "1"), ([1, 2], "1-2"), ([0, 2, 3, 4, 9], "0, 2-4, 9")])
def test_neighbours_are_told_as_a_range(numbers: list[int], text: str) -> None:
    assert to_ranges(numbers) == text
    assert ORDERS.partition == 0
