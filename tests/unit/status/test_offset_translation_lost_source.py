"""Offsets of a source that is lost: what the tables remember of it counts, and what cannot be told is withheld."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds
from fakes.kept_offsets import kept, said, silent, site_of, translated, why
from fakes.next_driver import begin_again_by_the_history
from fakes.reconciler_site import ORDERS, STARTED_MS, Site
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition
from offset_sync.translate.index.incarnations import Incarnation

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
        assert why(found).startswith("orders-0 at X is known up to ")
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
