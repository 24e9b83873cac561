"""InSync and Mirroring, and every reason for the latter, in a scene that reaches it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from builders.logs import log
from fakes.clusters import GroupOffset
from fakes.reconciler_site import ORDERS, config_of
from fakes.status_site import IN_SYNC, StatusSite, at_target, moved, status_site
from offset_sync.model.values import EpochEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, MetadataByCluster
from offset_sync.status.job_progress import StreamLag
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.time_index import TimeIndex

# InSync, in the plain good cases


@pytest.mark.parametrize(
    ("here", "there", "committed"),
    [
        pytest.param("X0:10", ". . X0:10", 10, id="an idle one-way topic"),
        pytest.param("X0:10", ". . X0:10", 4, id="a group that lags on a one-way topic"),
        pytest.param("X0:10", "X0:10", 0, id="a group that has read nothing"),
        pytest.param("X0 Y0 X2 X3 Y1", "Y0 Y1 X0 X2 X3", 5, id="both sides produce and all is read"),
        pytest.param("X0 Y0 X2 X3", "Y0 X0 X2 X3", 2, id="both sides produce, and the next record is the same"),
        pytest.param("", "", 0, id="an empty partition"),
        pytest.param("X0:3 .", "X0:3 . .", 4, id="markers at the end, all read"),
        pytest.param("X0:3 .", "X0:3 . .", 3, id="markers at the end, a commit before them"),
        pytest.param("X0:3 . X4", "X0:3 . . X4", 3, id="markers before the next record"),
        pytest.param("X0:3 Z0", "Z0 X0:3", 4, id="a third origin"),
    ],
)
def test_in_sync(here: str, there: str, committed: int) -> None:
    site = moved(here, there, committed)
    assert site.said() == IN_SYNC
    row = site.row()
    numbers = ("duplicates", "duplicates_at_most", "lost", "not_mirrored", "staleness_ms")
    assert [row[name] for name in numbers] == [0, 0, 0, 0, 0]
    assert (row["mirror_lag_ms"] > 0) == (row["mirror_lag"] > 0)


def test_an_offset_that_means_the_same_is_as_good_as_the_translation() -> None:
    site = at_target(moved("X0:3 . X4", "X0:3 . . X4", 3), 4)
    assert (site.row()["wanted_offset"], site.row()["target_offset"], site.said()) == (5, 4, IN_SYNC)


def test_only_what_would_be_in_sync_is_compared_and_only_where_something_is_left() -> None:
    assert moved("X0:10", "X0:10", 10).report()[0]["status"] == "InSync"
    for committed, asked in ((10, 0), (4, 1)):
        site = moved("X0:10", "X0:10", committed)
        site.report()
        assert len(site.compared) == asked


def test_the_way_back_is_reported_where_the_group_committed_last() -> None:
    site = moved("X0:4 Y0:2", "Y0:2 X0:4", 4)
    site.commit("Y", "g", 6)
    site.reconciled()
    (row,) = site.report()
    assert (row["source_cluster"], row["target_cluster"], row["status"]) == ("Y", "X", "InSync")


# Mirroring


def test_records_not_mirrored_yet() -> None:
    site = moved("X0:10", "X0:7", 4)
    assert site.said() == ("Mirroring", "3 records not mirrored yet")
    row = site.row()
    assert (row["lost"], row["not_mirrored"], row["mirror_lag"], row["mirror_lag_by_origin"]) == (3, 3, 3, '{"X": 3}')


def test_a_record_that_is_read_and_not_mirrored_yet_would_come_again() -> None:
    site = moved("X0:10", "X0:9", 10)
    assert site.said() == ("Mirroring", "1 record already read, not mirrored yet")
    assert (site.row()["lost"], site.row()["mirror_lag"]) == (0, 1)


def test_a_third_origin_that_the_target_never_had_does_not_come_again() -> None:
    assert moved("X0:3 Z0:2", "X0:3", 5).said() == IN_SYNC
    assert moved("X0:3 Z0:2", "X0:3 Z0", 5).said() == ("Mirroring", "1 record already read, not mirrored yet")
    assert moved("X0:3 Z0:2", "X0:3", 3).said() == ("Mirroring", "2 records not mirrored yet")


@pytest.mark.parametrize(
    ("here", "there", "committed"),
    [
        pytest.param("X0:4", "X0 X2 X3", 0, id="dropped by the mirror"),
        pytest.param("X0 Z0 Z1 X3", "X0 Z1 X3", 0, id="dropped on its way from a third cluster"),
        pytest.param("X0 ? X2", "X0 X2", 0, id="its identity is unreadable"),
        pytest.param("X0 Y0 X2", ". X0 Y1 X2", 0, id="the target's own, and not there any more"),
    ],
)
def test_an_unread_record_that_the_target_will_never_have(here: str, there: str, committed: int) -> None:
    site = moved(here, there, committed)
    assert site.said() == ("Mirroring", "1 record unread and permanently missing at the target: dropped or deleted")
    assert site.row()["lost"] == 1


def test_an_unread_record_that_retention_took_at_the_target() -> None:
    site = status_site("X0 Y0 X2", "")
    site.put(log("Y", "Y0 X0 X2", log_start=1))
    site.commit("X", "g", 0)
    site.reconciled()
    # The next record is X0 on both sides, and still it is not in sync.
    assert site.said() == ("Mirroring", "1 record unread and permanently missing at the target: dropped or deleted")
    assert (site.row()["lost"], site.row()["not_mirrored"]) == (1, 0)


def test_what_both_clusters_have_deleted_unread_is_not_lost_by_the_move() -> None:
    site = status_site("X0:20", "")
    site.put(log("X", "X0:20", log_start=10))
    site.put(log("Y", "X0:20", log_start=10))
    site.commit("X", "g", 1)
    site.reconciled()
    assert (site.said(), site.row()["lost"], site.target_offset("Y", "g")) == (IN_SYNC, 0, 10)
    site.clusters["X"].is_down = True  # where its log begins is not known any more
    assert site.row()["lost"] == 9


def test_what_only_the_source_has_deleted_is_neither_lost_nor_on_its_way() -> None:
    site = status_site("X0:20", "X0:5 X10:20")
    site.put(log("X", "X0:20", log_start=10))
    site.commit("X", "g", 7)
    site.reconciled()
    assert (site.said(), site.row()["lost"], site.target_offset("Y", "g")) == (IN_SYNC, 0, 5)


@pytest.mark.parametrize("is_down", [False, True])
def test_a_target_that_was_cut_is_answered_below_the_cut_and_missing_records_are_reported(is_down: bool) -> None:
    site = moved("X0:10", "X0:10", 8)
    look = site.fetch

    def noticing(aliases: Collection[str], partitions: Collection[TopicPartition]) -> MetadataByCluster:
        said = look(aliases, partitions)
        there = said["Y"]
        assert isinstance(there, ClusterMetadata)
        return {**said, "Y": replace(there, cut=frozenset({ORDERS}), ended={ORDERS: EpochEnd(2, 4)})}

    site.fetch = noticing  # type: ignore[method-assign]
    site.clusters["X"].is_down = is_down
    row = site.row()
    assert (row["state"], row["wanted_offset"], row["target_offset"]) == ("AT_FRONTIER", 4, 8)
    reason = "the target is ahead: 4 records unread below its offset, committed by another client"
    assert site.said() == ("Behind", reason)
    site.reconcile(is_first=True)
    assert (site.target_offset("Y", "g"), site.row()["lost"]) == (4, 2)


def test_a_record_that_was_overtaken_a_moment_ago_may_still_come() -> None:
    site = moved("X0:4", "X0 X2 X3", 4, sync={"hole_grace": "3650d"})
    assert site.said() == ("Mirroring", "1 record already read, not mirrored yet")
    assert moved("X0:4", "X0 X2 X3", 4).said() == IN_SYNC


def test_records_before_unread_ones_at_the_target() -> None:
    site = moved("X0 Y0 X2 Y1 X4", "Y0 Y1 X0 X2 X4", 3)
    assert site.said() == ("Mirroring", "2 records already read, above the first unread one")
    assert site.row()["duplicates"] == 2


def test_records_not_indexed_yet() -> None:
    for alias, frontier in (("X", 9), ("Y", 8)):
        site = moved("X0:10", "X0:10", 4)
        site.clusters[alias].logs[ORDERS] = type(site.clusters[alias].logs[ORDERS])(0, 20 - frontier)
        assert site.said()[0] == "Mirroring"
    assert site.said() == ("Mirroring", "2 records not indexed yet")


def test_records_read_beyond_the_index_may_be_above_at_the_target() -> None:
    site = status_site("X0:10", "X0:10")
    site.clusters["X"].logs[ORDERS] = type(site.clusters["X"].logs[ORDERS])(0, 12)
    site.commit("X", "g", 12)
    site.reconciled()
    assert site.said() == ("Mirroring", "2 records not indexed yet")


def test_commits_of_a_third_cluster_count_for_the_group_may_have_gone_there() -> None:
    site = StatusSite(config_of(["X", "Y", "Z"]))
    for alias in "XYZ":
        site.put(log(alias, "X0:10"))
    site.commit("X", "g", 4)
    site.reconciled()
    assert site.said() == IN_SYNC
    site.lags["Z"] = StreamLag({0: 1, 1: 1}, 0, 2)
    assert site.said() == IN_SYNC
    site.clusters["Z"].group_offsets["g", ORDERS] = GroupOffset(7, "")
    assert site.said() == ("Mirroring", "1 record of __consumer_offsets not read yet")
    site.clusters["Z"].is_down = True
    assert site.said() == IN_SYNC


def test_records_on_their_way_to_the_source() -> None:
    assert moved("X0:4", "X0:4 Y4", 4).said() == ("Mirroring", "records in flight to the source")


def test_a_record_that_nothing_at_the_target_can_be_compared_with() -> None:
    # Sent twice by the mirror: it is read, and is there once more.
    assert moved("Y0 Y0 X2", "Y0 X2", 1).said()[0] == "Mirroring"
    assert moved("Y0 Y0", "Y0", 1).said() == ("Mirroring", "no record at the target to compare with")


def test_another_record_or_another_content_on_each_side() -> None:
    assert moved("X0 Y0 X2", "Y0 X0 X2", 0).said() == ("Mirroring", "another one")
    site = moved("X0:4", "X0:4", 2)
    assert site.said() == IN_SYNC
    site.changed.add(("X", 2))
    assert site.said() == ("Mirroring", "another one")


@pytest.mark.parametrize(
    ("there", "said", "late"),
    [
        ([5, 6, 6, 7], "the mirror stamps no headers: cannot tell which records are mirrored", 0),
        ([5, 6], "1 record already read, not mirrored yet", 1),
        ([], "4 records already read, not mirrored yet", 4),
    ],
)
def test_without_headers_only_the_time_tells_what_is_mirrored(there: list[int], said: str, late: int) -> None:
    topics = {"include": ["orders"], "strategy": "timestamp"}
    site = StatusSite(config_of(["X", "Y"], topics=topics, status={"stalled_after": "2h"}))
    for alias, times in (("X", [5, 6, 6, 7]), ("Y", there)):
        site.put(log(alias, f"{alias}0:{len(times)}" if times else ""))
        timed = site.index.logs.setdefault((alias, "orders", 0), LogIndex())
        timed.times = TimeIndex()
        timed.times.extend(np.arange(len(times)), np.ones(len(times), np.int64), *[np.array(times, np.int64)] * 2)
    site.commit("X", "g", 4)
    site.reconciled()
    assert site.said() == ("Mirroring", said)
    assert (site.row()["lost"], site.row()["mirror_lag"], site.row()["mirror_gaps"]) == (None, late, 0)
