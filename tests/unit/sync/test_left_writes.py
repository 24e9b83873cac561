"""What a driver wrote that died before it recorded it, distinguished from resets while no driver ran."""

from __future__ import annotations

import numpy as np
import pytest

from fakes.clusters import to_records
from fakes.next_driver import begin_again_by_the_tables
from fakes.reconciler_site import ORDERS, mirrored_site
from offset_sync.model.values import GroupPartition
from offset_sync.state.checked_metadata import Fetcher
from offset_sync.state.translator import Translator
from offset_sync.sync.left_writes import LeftWrites

MINUTE_MS = 60_000
ALL = range(13)


class Start:
    """A driver that starts after one that has answered X's commit of 3 with 5 at Y, and died."""

    def __init__(self, answered: int | None = 3, silence_ms: int = 0) -> None:
        self.site = site = mirrored_site()
        site.commit("Y", "other", 1)
        if answered is not None:
            site.commit("X", "g", answered)
        site.reconcile()
        begin_again_by_the_tables(site)
        site.state.homes.silence_ms = silence_ms
        self.begin(site)
        self.rows = site.offsets.ids([GroupPartition("g", *ORDERS)])

    def begin(self, fetcher: Fetcher, patience_s: float = 0, is_read: bool = False) -> Start:
        """Begin with who asks the clusters, so patient where others *is_read* does not say that nothing more comes."""
        state = self.site.state
        self.left = LeftWrites(state, Translator(self.site.config, state), fetcher, lambda alias: is_read, patience_s)
        self.left.begin()
        return self

    def reads(self, *offsets: int, apart_ms: int = 1, is_own: bool = False, is_whole: bool = True) -> Start:
        """Read commits that the group has made at X since, or we."""
        for offset in offsets:
            self.site.commit("X", "g", offset)
            self.site.pass_time(apart_ms - 1)
        first, log = self.site.position["X"], self.site.clusters["X"].log
        records = to_records(log[first:], [], first)
        keys = [GroupPartition(each.group_id, *each.place) for each in log[first:]]
        recorded = self.site.state.record("X", keys, records)
        self.left.note("X", recorded.rows, records, recorded.is_own | is_own, is_whole=is_whole)
        return self

    def ours(self, later_ms: int = 1_000) -> list[int]:
        """Return which offsets count as ours that Y's log has, written *later_ms* from now."""
        made_ms = np.array([self.site.clock_ms[0] + later_ms])
        return [each for each in ALL if self.left.of("Y", self.rows, np.array([each]), made_ms)[0]]

    def are_ours(self, *written: tuple[int, int]) -> list[bool]:
        """Return which of several commits that Y's log has count as ours, each with how much later it was made."""
        offset, later_ms = np.array(written).T
        rows = np.repeat(self.rows, len(written))
        return list(self.left.of("Y", rows, offset, self.site.clock_ms[0] + later_ms).tolist())


def test_the_answer_to_a_commit_that_was_not_recorded_as_answered_is_ours() -> None:
    assert Start().reads(8).ours() == [10]


def test_nothing_is_ours_of_a_group_with_members_there_of_a_cluster_read_in_part_and_once_all_is_read() -> None:
    start = Start().reads(8)
    start.site.state.homes.note_members("Y", {"g"}, start.site.clock_ms[0])
    assert start.ours() == []
    start = Start().reads(8, is_whole=False)
    assert start.ours() == []
    assert start.reads(9).ours() == [10, 11]
    start.left.forget()
    assert start.ours() == []


def test_what_the_group_has_committed_since_may_have_been_answered_each_for_a_while() -> None:
    assert Start().reads(4, 6, 8).ours() == [6, 8, 10]
    assert Start().reads(4, 6, 8, apart_ms=20_000).ours(later_ms=0) == [8, 10]
    assert Start().reads(4, 6, 8, apart_ms=MINUTE_MS).ours(later_ms=0) == [10]
    start = Start().reads(6, apart_ms=MINUTE_MS).reads(8)
    assert start.ours(later_ms=-MINUTE_MS // 2) == [8], "nothing answers a commit that came later"
    assert start.are_ours((10, -MINUTE_MS // 2), (10, 0)) == [False, True]


@pytest.mark.parametrize(("later_ms", "ours"), [(5_000, [3, 11]), (31_000, [3])])
def test_a_reset_that_the_driver_before_had_not_read_makes_its_answers_no_commits_of_the_group(
    later_ms: int, ours: list[int]
) -> None:
    """Else Y would be the home, and X would be set to 9 again."""
    assert Start().reads(9, 1).ours(later_ms) == ours


def test_our_writes_elsewhere_get_no_answer() -> None:
    """Else a reader that commits the same again and again at its home would be silent there."""
    site = mirrored_site()
    site.commit("Y", "g", 9)
    site.pass_time(1)
    site.reconcile()
    begin_again_by_the_tables(site)
    left = LeftWrites(site.state, Translator(site.config, site.state), site, lambda alias: False, patience_s=0)
    rows = site.offsets.ids([GroupPartition("g", *ORDERS)])
    left.begin()
    assert not left.of("Y", rows, np.array([9]), np.array([site.clock_ms[0] + MINUTE_MS])).any()
