"""What a driver wrote that died before it recorded it, distinguished from resets while no driver ran."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fakes.clusters import to_records
from fakes.next_driver import begin_again_by_the_tables
from fakes.reconciler_site import ORDERS, Site, mirrored_site
from offset_sync.model.values import GroupPartition
from offset_sync.state.translator import Translator
from offset_sync.sync.left_writes import LeftWrites


def ours(
    *since: int, apart_ms: int = 1, is_whole: bool = True, members: Sequence[str] = (), site: Site | None = None
) -> list[int]:
    """Return which offsets count as ours that Y's log has, written now.

    A driver has answered X's commit of 3 with 5 at Y, and died; the next one has read these *since* at X, *is_whole*:
    all that there are, each so long after the one before. Of *members* are groups at Y.
    """
    site = site or mirrored_site()
    site.commit("Y", "other", 1)
    site.commit("X", "g", 3)
    site.reconcile()
    begin_again_by_the_tables(site)
    left = LeftWrites(site.state, Translator(site.config, site.state), site, lambda alias: False, patience_s=0)
    left.begin()
    for offset in since:
        site.commit("X", "g", offset)
        site.pass_time(apart_ms - 1)
    first, log = site.position["X"], site.clusters["X"].log
    records = to_records(log[first:], [], first)
    recorded = site.state.record("X", [GroupPartition(each.group_id, *each.place) for each in log[first:]], records)
    left.note("X", recorded.rows, records, recorded.is_own, is_whole=is_whole)
    site.state.homes.note_members("Y", members, site.clock_ms[0])
    rows, made_ms = site.offsets.ids([GroupPartition("g", *ORDERS)]), np.array(site.clock_ms)
    return [each for each in range(13) if left.of("Y", rows, np.array([each]), made_ms)[0]]


def test_the_answer_to_a_commit_that_was_not_recorded_as_answered_is_ours() -> None:
    assert ours(8) == [10]
    assert ours(8, members=["g"]) == ours(8, is_whole=False) == []
    assert ours(4, 6, 8) == [6, 8, 10]
    assert ours(4, 6, 8, apart_ms=20_000) == [8, 10], "the newest, and what was it a moment before"
