"""What a driver wrote that died before it recorded it, told from what people reset while nobody drove."""

from __future__ import annotations

import numpy as np
import pytest

from fakes.clusters import MemoryEnds
from fakes.next_driver import begin_anew_by_the_tables
from fakes.reconciler_site import ORDERS, Site, mirrored_site
from offset_sync.model.values import GroupPartition, Outcome
from offset_sync.state.translator import Translator
from offset_sync.sync.left_writes import LeftWrites
from offset_sync.translate.index.indexing_times import IndexingTimes

MINUTE_MS = 60_000


def answered_site(*offsets: int, apart_ms: int = MINUTE_MS) -> Site:
    """Return a site where X's commits at *offsets* were answered at Y, two higher, one after the other."""
    site = mirrored_site()
    for offset in offsets:
        site.commit("X", "g", offset)
        site.reconciled()
        site.pass_time(apart_ms)
    return site


def is_ours(site: Site, offset: int, later_ms: int = 1_000) -> bool:
    """Return whether a commit of *offset* at Y that is read at a start, made *later_ms* from now, counts as ours."""
    left = LeftWrites(site.state, Translator(site.config, site.state), site, patience_s=0)
    left.begin()
    rows = site.offsets.ids([GroupPartition("g", *ORDERS)])
    made_ms = np.array([site.clock_ms[0] + later_ms])
    return bool(left.of("Y", rows, np.array([offset]), made_ms)[0])


def test_the_answer_to_a_commit_that_was_not_recorded_as_answered_is_ours() -> None:
    site = answered_site(3)
    site.commit("X", "g", 8)
    site.read_all()
    assert is_ours(site, 10)
    assert not is_ours(site, 9)


def test_nothing_is_ours_of_a_group_that_has_members_there() -> None:
    site = answered_site(3)
    site.commit("X", "g", 8)
    site.read_all()
    site.state.homes.note_members("Y", {"g"}, site.clock_ms[0])
    assert not is_ours(site, 10)


@pytest.mark.parametrize("offset", [5, 10])
@pytest.mark.parametrize("apart_ms", [1, MINUTE_MS])
def test_an_answer_that_is_recorded_was_read_and_comes_no_second_time(offset: int, apart_ms: int) -> None:
    assert not is_ours(answered_site(3, 8, apart_ms=apart_ms), offset)


def test_another_answer_to_the_commit_that_was_answered_last_is_ours() -> None:
    site = answered_site(3, 8)
    last = site.state.last("X", "Y")
    last.columns["wanted"][:] = 7  # more copies have come since
    assert is_ours(site, 10)


def next_site(*offsets: int) -> Site:
    """Return a site whose driver died after it recorded the answer to 3, which is 5; X goes on to *offsets*."""
    site = mirrored_site()
    site.commit("X", "g", 3)
    site.reconcile()
    begin_anew_by_the_tables(site)
    for offset in offsets:
        site.commit("X", "g", offset)
    site.read_all()
    return site


def test_what_lies_between_the_recorded_answer_and_the_one_to_the_newest_commit_is_ours() -> None:
    """The driver answered 6, and X has committed twice since; or 8, with an index that did not reach further."""
    site = next_site(6, 7, 8)
    assert [offset for offset in range(13) if is_ours(site, offset)] == [6, 7, 8, 9, 10]


def test_an_answer_that_waited_for_the_index_was_lower_than_today() -> None:
    site = next_site()
    site.state.last("X", "Y").columns["wanted"][:] = 3  # what was indexed ended there
    site.offsets.clusters["Y"].columns["actual_offset"][:] = 3
    assert [offset for offset in range(13) if is_ours(site, offset)] == [4, 5]


def test_only_what_was_written_in_the_last_moments_of_the_driver_before_may_lie_between() -> None:
    site = next_site(6, 8)
    assert is_ours(site, 9, later_ms=29_000)
    assert not is_ours(site, 9, later_ms=31_000)


def test_nothing_lies_between_where_another_cluster_is_active_or_is_the_home() -> None:
    """Two readers with one id: what the second one commits is never taken for ours, whatever the first one reads."""
    site = next_site(6, 8)
    site.state.homes.silence_ms = MINUTE_MS
    rows = site.offsets.ids([GroupPartition("g", *ORDERS)])
    assert is_ours(site, 9)
    site.state.homes.note_commits("Y", rows, np.array([site.clock_ms[0] - 1_000]))
    assert not is_ours(site, 9)
    site.state.homes.silence_ms = 0
    site.state.homes.note_commits("Y", rows, np.array([site.clock_ms[0] + 1_000]))
    assert not is_ours(site, 9)


def test_what_we_hold_there_counts_though_the_last_answer_was_refused() -> None:
    site = next_site(6, 8)
    site.state.last("X", "Y").columns["outcome"][:] = int(Outcome.FAILED)
    assert [offset for offset in range(13) if is_ours(site, offset)] == [6, 7, 8, 9, 10]


def test_nothing_lies_between_where_the_group_had_committed_itself() -> None:
    site = next_site(6, 8)
    site.state.offsets.clusters["Y"].columns["actual_is_own"][:] = False
    assert [offset for offset in range(13) if is_ours(site, offset)] == [10]


@pytest.mark.parametrize(("indexed_after_s", "ours"), [(3, [8, 9, 10]), (-3, [10])])
def test_where_nothing_had_been_written_the_answer_was_at_the_end_of_the_index(
    indexed_after_s: int, ours: list[int]
) -> None:
    """Y was indexed up to 8 when X's first commit was answered."""
    site = mirrored_site()
    site.commit("Y", "other", 1)
    site.reconcile()
    begin_anew_by_the_tables(site)
    site.commit("X", "g", 8)
    site.read_all()
    log = site.index.log("Y", *ORDERS)
    assert log is not None
    log.indexing_times = IndexingTimes()
    now_ms = site.clock_ms[0]
    times_ms = np.array([now_ms - MINUTE_MS, now_ms + indexed_after_s * 1_000])
    log.indexing_times.extend(np.array([0, 8]), times_ms)
    assert [offset for offset in range(13) if is_ours(site, offset)] == ours


@pytest.mark.parametrize(("offset", "is_so"), [(9, False), (10, True), (11, True), (12, True), (13, False)])
def test_an_answer_that_was_raised_to_a_log_start_that_has_moved_on_is_ours(offset: int, is_so: bool) -> None:
    """The answer is 10; the driver before may have written 11, where the log began then. It begins at 12 now."""
    site = mirrored_site()
    site.commit("X", "g", 8)
    site.read_all()
    end = site.clusters["Y"].logs[ORDERS].log_end
    site.clusters["Y"].logs[ORDERS] = MemoryEnds(12, end)
    assert is_ours(site, offset) == is_so
