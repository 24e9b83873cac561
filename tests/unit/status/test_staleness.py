"""Since when a target has been behind, and since when the index has left records unread."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.model.values import ABSENT
from offset_sync.status.staleness import ReportStaleness, StalenessTracker

KEY = np.array([4])


def behind(
    staleness: ReportStaleness, now: int, committed: int = 0, position: int = 7, *, is_behind: bool = True
) -> int:
    """What one key's staleness is."""
    arrays = np.array([is_behind]), np.array([committed]), np.array([position])
    return int(staleness.behind_ms(KEY, *arrays, now)[0])


@pytest.mark.parametrize(
    ("reports", "told"),
    [
        pytest.param([(1000, 900), (2000, 1900), (9000, 8900)], [100, 1100, 8100], id="whatever is committed"),
        pytest.param([(1000, 900, 1), (2000, 1900, 2)], [100, 100], id="a target that moves keeps up"),
        pytest.param([(1000, 5000)], [1], id="a clock ahead of ours makes nothing negative"),
    ],
)
def test_it_counts_from_the_commit_of_the_first_report_while_the_target_stands(
    reports: list[tuple[int, ...]], told: list[int]
) -> None:
    staleness = ReportStaleness()
    assert [behind(staleness, *each) for each in reports] == told


def test_staleness_counts_from_where_it_began_until_it_ends_or_is_restarted() -> None:
    tracker, keys = StalenessTracker(), np.array([3, 0, 5])
    stale, well = np.ones(3, np.bool_), np.zeros(3, np.bool_)
    assert tracker.observe(keys, stale, np.array([10, 20, 30])).tolist() == [10, 20, 30]
    assert tracker.observe(keys, stale, np.array([90, 90, 90])).tolist() == [10, 20, 30]
    tracker.restart(keys[:1])
    assert tracker.observe(keys, stale, np.array([90, 90, 90])).tolist() == [90, 20, 30]
    tracker.keep_only(keys[1:2])
    assert tracker.since_ms(keys).tolist() == [ABSENT, 20, ABSENT]
    assert tracker.observe(keys, well, np.array([95, 95, 95])).tolist() == [ABSENT] * 3
    assert tracker.since_ms(np.array([9])).tolist() == [ABSENT]
