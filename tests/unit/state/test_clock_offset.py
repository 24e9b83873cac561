"""How far two clocks may differ, as far as what one has written and the other reads can tell."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.state.cluster_clock import WINDOW_MS, ClockOffset, ClusterClock, Read


@law(200)
@given(
    st.integers(-(10**6), 10**6),
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 10_000)), min_size=2, max_size=30),
)
def test_it_is_never_said_to_be_less_than_it_is(ahead_ms: int, batches: list[tuple[int, int]]) -> None:
    clock, writer_ms = ClockOffset(), 10**12
    for pause_ms, latency_ms in batches:
        writer_ms += pause_ms
        clock.observe(writer_ms, writer_ms + latency_ms + ahead_ms)
        writer_ms += latency_ms
    assert clock.at_most() >= ahead_ms


def test_another_machine_counts_after_a_while() -> None:
    clock = ClockOffset()
    for now in (10**12, 10**12 + 1):
        clock.observe(now - 100, now)
    later = 10**12 + WINDOW_MS
    for step in range(3):
        clock.observe(later + step * WINDOW_MS - 90_000, later + step * WINDOW_MS)
    assert clock.at_most() == 90_000


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


# What was in the log before we looked


def made(clock: ClusterClock, *timestamps: int, read_ms: int = STARTED_MS) -> list[int]:
    """Return when records of a backlog were made, that is read at *read_ms*."""
    return clock.made_ms(np.array(timestamps), Read(read_ms)).tolist()


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
