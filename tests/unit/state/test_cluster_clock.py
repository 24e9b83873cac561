"""A cluster's clock against ours: times of records by our clock, whatever the cluster's one does."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.model.values import ABSENT
from offset_sync.state.cluster_clock import WINDOW_MS, ClusterClock, Read

STARTED_MS = 1_795_000_000_000
HOUR_MS, YEAR_MS = 3_600_000, 365 * 24 * 3_600_000
BATCH_MS = 5_000
"""At most so long is between two looks at the log."""


@dataclass
class Live:
    """A log that is read live: each look brings what was written since the one before."""

    rng: random.Random
    ahead_ms: int = 0
    clock: ClusterClock = field(default_factory=ClusterClock)
    now_ms: int = STARTED_MS
    known: bool = False

    def look(self, *, wild_ms: int | None = None) -> tuple[np.ndarray, np.ndarray, Read]:
        """Read the next records; return when they were written, what is told of that, and when they were read.

        *wild_ms*: one of them bears a timestamp that is so far off.
        """
        read = Read(self.now_ms + self.rng.randint(1, BATCH_MS), self.now_ms)
        written = np.sort(np.array([self.rng.randint(read.since_ms, read.until_ms) for _ in range(3)]))
        timestamp_ms = written + self.ahead_ms
        if wild_ms is not None:
            timestamp_ms[self.rng.randrange(3)] += wild_ms
        self.now_ms = read.until_ms
        return written, self.clock.made_ms(timestamp_ms, read), read


offsets = st.one_of(st.integers(-20_000, 20_000), st.sampled_from([-YEAR_MS, -HOUR_MS, 0, HOUR_MS, YEAR_MS]))
seeds = st.integers(0, 2**32)


@law(150)
@given(seeds, st.lists(st.tuples(offsets, st.integers(1, 6)), min_size=1, max_size=5), st.sampled_from([None, YEAR_MS]))
def test_a_record_that_was_read_live_was_made_between_two_looks_whatever_its_timestamp(
    seed: int, jumps: list[tuple[int, int]], wild_ms: int | None
) -> None:
    live = Live(random.Random(seed))
    for ahead_ms, looks in jumps:
        live.ahead_ms = ahead_ms
        for _ in range(looks):
            _, made, read = live.look(wild_ms=wild_ms)
            assert (made >= read.since_ms).all()
            assert (made <= read.until_ms).all()


@law(150)
@given(seeds, offsets, st.integers(1, 30))
def test_what_a_clock_is_ahead_by_is_known_as_well_as_the_log_is_looked_at(
    seed: int, ahead_ms: int, looks: int
) -> None:
    live = Live(random.Random(seed), ahead_ms)
    for _ in range(looks):
        written, made, _ = live.look()
    assert live.clock.ahead_ms is not None
    assert abs(live.clock.ahead_ms - ahead_ms) <= BATCH_MS
    assert (np.abs(made - written) <= BATCH_MS).all()
    assert live.clock._low is not None
    assert live.clock._high is not None
    assert live.clock._low <= ahead_ms <= live.clock._high, "without a jump the bounds hold the truth"


@law(150)
@given(seeds, st.lists(offsets, min_size=2, max_size=4))
def test_a_clock_that_was_set_is_measured_again_at_the_next_look(seed: int, jumps: list[int]) -> None:
    """It shows where the bounds contradict each other; what they still allow is no further off than a look takes."""
    live = Live(random.Random(seed))
    for ahead_ms in jumps:
        live.ahead_ms = ahead_ms
        for _ in range(3):
            live.look()
            assert live.clock.ahead_ms is not None
            assert abs(live.clock.ahead_ms - ahead_ms) <= 2 * BATCH_MS


def test_a_measurement_is_forgotten_after_two_windows() -> None:
    live = Live(random.Random(1), HOUR_MS)
    live.look()
    live.now_ms += 2 * WINDOW_MS
    live.ahead_ms = HOUR_MS + 3_000  # it drifts
    for _ in range(200):
        live.look()
    assert live.clock.ahead_ms is not None
    assert abs(live.clock.ahead_ms - live.ahead_ms) < 500


@pytest.mark.parametrize("wild_ms", [-YEAR_MS, YEAR_MS])
def test_a_record_among_others_whose_timestamp_is_wild_spoils_nothing(wild_ms: int) -> None:
    live = Live(random.Random(2), 7_000)
    for _ in range(5):
        live.look()
    before = live.clock.ahead_ms
    live.look(wild_ms=wild_ms)
    assert live.clock.ahead_ms == before


@pytest.mark.parametrize("wild_ms", [-YEAR_MS, YEAR_MS])
def test_a_record_by_itself_whose_timestamp_is_wild_is_forgotten_with_the_next_one(wild_ms: int) -> None:
    live = Live(random.Random(3), 7_000)
    live.look()
    read = Read(live.now_ms + 1_000, live.now_ms)
    (made,) = live.clock.made_ms(np.array([live.now_ms + wild_ms]), read)
    assert read.since_ms <= made <= read.until_ms
    live.now_ms += 1_000
    written, made, _ = live.look()
    assert (np.abs(made - written) <= BATCH_MS).all()
    assert live.clock.ahead_ms is not None
    assert abs(live.clock.ahead_ms - 7_000) <= BATCH_MS


# What was in the log before we looked


def made(clock: ClusterClock, *timestamps: int, read_ms: int = STARTED_MS) -> list[int]:
    """Return when records of a backlog were made, that is read at *read_ms*."""
    return clock.made_ms(np.array(timestamps), Read(read_ms)).tolist()


def test_of_a_backlog_timestamps_are_believed_but_for_times_to_come() -> None:
    clock = ClusterClock()
    assert made(clock, STARTED_MS - HOUR_MS, STARTED_MS - 1) == [STARTED_MS - HOUR_MS, STARTED_MS - 1]
    assert clock.ahead_ms is None


def test_a_backlog_from_the_future_tells_how_far_the_clock_is_ahead_at_least() -> None:
    clock = ClusterClock()
    assert made(clock, STARTED_MS + HOUR_MS - 5_000, STARTED_MS + HOUR_MS) == [STARTED_MS - 5_000, STARTED_MS]
    assert clock.ahead_ms == HOUR_MS


def test_what_the_driver_before_has_measured_holds_until_it_is_measured_again() -> None:
    clock = ClusterClock()
    clock.keep(HOUR_MS)
    assert made(clock, STARTED_MS) == [STARTED_MS - HOUR_MS]
    assert clock.ahead_ms == HOUR_MS
    live = Live(random.Random(4), 3_000, clock)
    live.look()
    assert clock.ahead_ms is not None
    assert abs(clock.ahead_ms - 3_000) <= BATCH_MS


def test_a_first_live_look_undoes_what_a_wild_record_of_the_backlog_has_said() -> None:
    clock = ClusterClock()
    made(clock, STARTED_MS - 5, STARTED_MS + YEAR_MS)
    live = Live(random.Random(5), 0, clock)
    written, found, _ = live.look()
    assert (np.abs(found - written) <= BATCH_MS).all()


def test_without_a_reading_nothing_is_measured_and_no_records_are_none() -> None:
    clock = ClusterClock()
    assert clock.made_ms(np.array([5, 7]), None).tolist() == [5, 7]
    assert clock.made_ms(np.empty(0, np.int64), Read(3, ABSENT)).tolist() == []
    assert clock.ahead_ms is None


@pytest.mark.parametrize("since_ms", [ABSENT, STARTED_MS - 10_000])
def test_a_time_that_no_clock_can_show_leaves_the_others_as_they_are(since_ms: int) -> None:
    clock = ClusterClock()
    times = np.array([STARTED_MS - 5_000, 2**63 // 1000])
    assert clock.made_ms(times, Read(STARTED_MS, since_ms)).tolist() == [STARTED_MS - 5_000, STARTED_MS]


# A log to which little is written


@law(150)
@given(seeds, st.integers(0, 60_000), st.integers(1, 40))
def test_a_clock_that_is_right_is_not_called_wrong_however_seldom_records_come(
    seed: int, gap_ms: int, looks: int
) -> None:
    live = Live(random.Random(seed))
    for _ in range(looks):
        since_ms, live.now_ms = live.now_ms, live.now_ms + gap_ms + 500
        live.clock.made_ms(np.array([live.now_ms - 300]), Read(live.now_ms, since_ms))
        assert (live.clock.ahead_ms, live.clock.uncertain_ms) == (0, 0)


def test_a_clock_that_was_set_right_is_right_again_though_records_come_seldom() -> None:
    clock = ClusterClock()
    clock.keep(HOUR_MS)
    assert clock.made_ms(np.array([STARTED_MS]), Read(STARTED_MS + 100, STARTED_MS - 30_000)).tolist() == [STARTED_MS]
    assert clock.ahead_ms == 0


def test_times_of_a_clock_that_is_wrong_are_as_uncertain_as_its_bounds_are_wide() -> None:
    clock = ClusterClock()
    clock.made_ms(np.array([STARTED_MS + HOUR_MS]), Read(STARTED_MS + 1_000, STARTED_MS - 9_000))
    assert (clock.ahead_ms, clock.uncertain_ms) == (HOUR_MS - 1_000, 10_000)
