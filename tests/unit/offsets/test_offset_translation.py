"""Offsets that no group has committed: plain loops over records say the same; and those of a lost source."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds
from fakes.kept_offsets import kept, said, silent, site_of, translated, why
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, STARTED_MS, Site
from offset_sync.model.reasons import Reason
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, TopicPartition
from offset_sync.translate.partition_log import Incarnation


@pytest.mark.parametrize(
    ("offset", "answer"),
    [(10, ("AT_FRONTIER", 10)), (11, ("COMMIT_BEYOND_END", ABSENT)), ((1 << 63) - 1, ("COMMIT_BEYOND_END", ABSENT))],
)
def test_an_offset_above_the_end_of_the_source_has_no_answer(offset: int, answer: tuple[str, int]) -> None:
    found = translated(site_of(), kept((ORDERS, offset)))
    assert said(found) == [answer]
    assert found.is_withheld.tolist() == [answer[1] == ABSENT]
    if answer[1] == ABSENT:
        assert Reason.ENDS_AT("X", 10) in why(found)


def test_a_topic_that_is_left_out_and_a_partition_that_is_not_there_are_told() -> None:
    site = site_of()
    found = translated(site, kept((TopicPartition("secret", 0), 0), (TopicPartition("orders", 1), 0), (ORDERS, 3)))
    assert said(found) == [("TOPIC_NOT_INCLUDED", ABSENT), ("PARTITION_MISSING", ABSENT), ("EXACT", 3)]
    assert [why(found, row) for row in (0, 1)] == [Reason.TOPIC_NOT_INCLUDED(), Reason.PARTITION_MISSING()]


def begun_anew(site: Site, *, is_recreated: bool, begins_at: int = 0) -> int:
    """Let the source's log have another life, noticed a while ago; return when."""
    noticed_ms = STARTED_MS - 10 * CLOCKS_APART_MS
    topic_id = site.clusters["X"].topics["orders"].topic_id
    site.index.lives[ClusterPartition("X", *ORDERS)] = [Incarnation(begins_at, noticed_ms, topic_id, is_recreated)]
    return noticed_ms


@pytest.mark.parametrize("is_source_lost", [False, True])
@pytest.mark.parametrize(("is_recreated", "state"), [(True, "TOPIC_RECREATED"), (False, "LOG_TRUNCATED")])
def test_an_offset_that_may_be_of_a_former_life_needs_a_time_that_proves_otherwise(
    is_recreated: bool, state: str, is_source_lost: bool
) -> None:
    site = site_of()
    noticed_ms = begun_anew(site, is_recreated=is_recreated, begins_at=4)
    if is_source_lost:
        silent(site)
    offsets = ((ORDERS, 4), (ORDERS, 5))
    for taken_at_ms in (ABSENT, 0, noticed_ms, noticed_ms + CLOCKS_APART_MS):
        found = translated(site, kept(*offsets, taken_at_ms=taken_at_ms), is_source_lost=is_source_lost)
        assert said(found) == [("EXACT", 4), (state, ABSENT)]
        assert "--taken-at" in why(found, 1)
    found = translated(
        site, kept(*offsets, taken_at_ms=noticed_ms + CLOCKS_APART_MS + 1), is_source_lost=is_source_lost
    )
    assert said(found) == [("EXACT", 4), ("EXACT", 5)]


AFTER = CLOCKS_APART_MS + 2
BEYOND = ("COMMIT_BEYOND_END", ABSENT)


def answers(site: Site, *offsets: int, taken_at_ms: int = ABSENT) -> list[tuple[str, int]]:
    places = [(ORDERS, offset) for offset in offsets]
    return said(translated(site, kept(*places, taken_at_ms=taken_at_ms), is_source_lost=True))


@pytest.mark.parametrize(
    ("here", "there", "complete_ms", "offset", "taken_at_ms", "answer"),
    [
        ("Y0:5 X5:10", "Y0:5 X5:13", STARTED_MS, 14, ABSENT, ABSENT),
        ("Y0:5 X5:10", "Y0:5 X5:13", STARTED_MS, 14, STARTED_MS + CLOCKS_APART_MS, ABSENT),
        ("Y0:5 X5:10", "Y0:5 X5:13", STARTED_MS, 14, STARTED_MS + CLOCKS_APART_MS + 1, 13),
        # 60 records were at X, 20 of them not indexed, when an election cut it at 40; ten others came, and were read.
        # The offset was taken half a minute before all 50 were read: its clock need not be wrong. The ten are unread.
        ("X0:50", "X0:50 Y50:55", STARTED_MS, 60, STARTED_MS - 30_000, ABSENT),
        ("X0:10", "X0:10", 0, 11, STARTED_MS, ABSENT),  # it is unknown when the log was read to its end
        ("X0:10", "X0:10", 0, 11, ABSENT, ABSENT),
        # No log can have it, and records of Y's own that X does not have would count as read.
        ("Y0:5 X5:10", "Y0:5 X5:13 Y13:20", 0, 1 << 62, STARTED_MS, ABSENT),
        ("Y0:5 X5:10", "Y0:5 X5:13 Y13:20", 0, (1 << 63) - 1, STARTED_MS, ABSENT),
    ],
)
def test_above_all_that_is_known_of_a_lost_source_only_a_time_after_it_was_read_to_its_end_is_believed(
    here: str, there: str, complete_ms: int, offset: int, taken_at_ms: int, answer: int
) -> None:
    site = silent(site_of(here, there))
    site.index.logs[ClusterPartition("X", *ORDERS)].complete_until_ms = complete_ms
    found = translated(site, kept((ORDERS, offset), taken_at_ms=taken_at_ms), is_source_lost=True)
    assert found.target_offset.tolist() == [answer]
    if answer == ABSENT:
        assert said(found) == [BEYOND]
        assert "the log at X is known up to " in why(found)
        assert ("--taken-at" in why(found)) is (complete_ms > 0)


def cut(site: Site) -> None:
    """Let the log of X lose what its index has from 6 on."""
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 6)


def left_by_a_driver(here: str, change: Callable[[Site], None] | None = None) -> Site:
    """Return what is known after a driver has seen a commit to 12 of X's log, and that of a group that is gone now."""
    site = site_of(here, "X0:20")
    site.commit("X", "readers", 12)
    site.reconcile()
    if change is not None:
        change(site)
        site.reconcile()
    begin_again_by_the_history(site)
    return silent(site)


def read_to(site: Site, end: int, at_ms: int) -> None:
    """Have all records of X's log at a time indexed, up to *end*."""
    site.index.extend(log("X", f"X0:{end}"), ORDERS)
    site.index.logs[ClusterPartition("X", *ORDERS)].complete_until_ms = at_ms


def test_a_log_that_was_cut_withholds_all_of_it_until_it_is_read_again_and_then_what_is_of_before() -> None:
    site = left_by_a_driver("X0:10", cut)
    assert answers(site, 3) == [("LOG_TRUNCATED", ABSENT)]
    noticed_ms = site.clock_ms[0] + 1
    read_to(site, 10, noticed_ms + AFTER)
    site.index.lives[ClusterPartition("X", *ORDERS)] = [Incarnation(6, noticed_ms, "orders at X", is_recreated=False)]
    assert answers(site, 6, 8) == [("EXACT", 6), ("LOG_TRUNCATED", ABSENT)]


def test_what_is_wrong_with_a_topic_is_told_with_the_cluster() -> None:
    site = site_of()
    site.clusters["Y"].topics.pop("orders")
    assert why(translated(site, kept((ORDERS, 3)))) == f"{Reason.TOPIC_MISSING()}; Y"
    site = site_of()
    site.clusters["X"].forbidden.add("orders")
    assert "orders may not be described" in why(translated(site, kept((ORDERS, 3))))
