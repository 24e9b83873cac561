"""What a driver wrote that died before it recorded it, told from what people reset while nobody drove."""

from __future__ import annotations

import numpy as np
import pytest

from fakes.clusters import MemoryEnds
from fakes.reconciler_site import ORDERS, Site, mirrored_site
from offset_sync.model.values import GroupPartition
from offset_sync.state.translator import Translator
from offset_sync.sync.left_writes import LeftWrites

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


@pytest.mark.parametrize(("later_ms", "may_be_earlier"), [(1_000, True), (5 * MINUTE_MS, False)])
def test_of_two_commits_the_earlier_may_have_been_answered_last_only_in_the_last_moments(
    later_ms: int, may_be_earlier: bool
) -> None:
    site = answered_site(3)
    site.commit("X", "g", 6)
    site.commit("X", "g", 8)
    site.read_all()
    assert is_ours(site, 10, later_ms)
    assert is_ours(site, 8, later_ms) == may_be_earlier


@pytest.mark.parametrize(("offset", "is_so"), [(9, False), (10, True), (11, True), (12, True), (13, False)])
def test_an_answer_that_was_raised_to_a_log_start_that_has_moved_on_is_ours(offset: int, is_so: bool) -> None:
    """The answer is 10; the driver before may have written 11, where the log began then. It begins at 12 now."""
    site = mirrored_site()
    site.commit("X", "g", 8)
    site.read_all()
    end = site.clusters["Y"].logs[ORDERS].log_end
    site.clusters["Y"].logs[ORDERS] = MemoryEnds(12, end)
    assert is_ours(site, offset) == is_so
