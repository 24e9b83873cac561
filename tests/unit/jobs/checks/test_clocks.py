"""The clock of a cluster's brokers, as `check` tells it."""

from __future__ import annotations

import pytest

from offset_sync.jobs.checks.clocks import judge_clock
from offset_sync.model.finding import Level

NOW_MS = 1_795_000_000_000


@pytest.mark.parametrize(
    ("newest_ms", "level", "text"),
    [
        (NOW_MS + 3_600_000, Level.WARN, "of 1 h from now: a clock is wrong"),
        (NOW_MS + 4_000, Level.OK, "not ahead of ours"),
        (NOW_MS - 60_000, Level.OK, "1 min old"),
        (None, Level.SKIP, "sync_offsets measures it"),
    ],
)
def test_a_commit_of_a_time_that_is_still_to_come_says_that_a_clock_is_wrong(
    newest_ms: int | None, level: Level, text: str
) -> None:
    (found,) = judge_clock("dc1", newest_ms, NOW_MS)
    assert (found.level, found.place, found.check) == (level, "clusters.dc1", "clock")
    assert text in found.text
