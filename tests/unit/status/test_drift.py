"""f - g, its change and the change over a window."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.status.drift import Drift, DriftWindow, Offsets, PairPartition

A = PairPartition("X", "Y", "a", "orders", 0)
B = PairPartition("X", "Y", "b", "orders", 1)


def of(found: list[Drift], group_id: str | None) -> Drift:
    (one,) = [drift for drift in found if drift.series == ("X", "Y", group_id)]
    return one


def test_while_the_sync_works_the_difference_stays_and_nothing_changes() -> None:
    window = DriftWindow(1000, 0)
    for second in range(5):
        found = window.add(second * 1000, {A: Offsets(100 + second * 10, 40 + second * 10)})
        assert (of(found, "a").drift, of(found, "a").change, of(found, "a").windowed_change) == (60, 0, 0)
        assert of(found, "a").is_converged


def test_when_the_sync_stops_the_change_of_the_window_grows_and_falls_again_after_it() -> None:
    window = DriftWindow(3000, 25)
    source = [0, 10, 20, 30, 40, 40, 40, 40, 40]
    found = [of(window.add(n * 1000, {A: Offsets(offset, 0)}), "a") for n, offset in enumerate(source)]
    assert [one.change for one in found] == [0, 10, 10, 10, 10, 0, 0, 0, 0]
    assert [one.windowed_change for one in found] == [0, 10, 20, 30, 30, 20, 10, 0, 0]
    assert [one.is_converged for one in found] == [True, True, True, False, False, True, True, True, True]


def test_a_pair_is_the_sum_of_its_groups_and_comes_first() -> None:
    window = DriftWindow(1000, 10)
    window.add(0, {A: Offsets(5, 1), B: Offsets(7, 7)})
    found = window.add(500, {A: Offsets(25, 6), B: Offsets(7, 2)})
    assert [one.series[2] for one in found] == [None, "a", "b"]
    pair = found[0]
    assert (pair.partitions, pair.source_offsets, pair.target_offsets) == (2, 32, 8)
    assert (pair.drift, pair.change, pair.windowed_change) == (24, 20, 20)
    # Each group may be away by ten.
    assert [one.is_converged for one in found] == [True, False, True]


def test_a_partition_that_appears_changes_nothing_and_one_that_comes_back_starts_anew() -> None:
    window = DriftWindow(10_000, 0)
    window.add(0, {A: Offsets(5, 5)})
    assert of(window.add(1, {A: Offsets(5, 5), B: Offsets(1000, 3)}), None).windowed_change == 0
    window.add(2, {A: Offsets(5, 5)})
    found = window.add(3, {A: Offsets(5, 5), B: Offsets(4000, 3)})
    assert (of(found, "b").change, of(found, "b").windowed_change, of(found, None).is_converged) == (0, 0, True)


@law(100)
@given(st.integers(0, 10**6), st.sampled_from([0, 1000, 5000]))
def test_the_change_of_the_window_is_the_sum_of_the_changes_in_it(seed: int, window_ms: int) -> None:
    rng, window = random.Random(seed), DriftWindow(window_ms, 0)
    at_ms, changes = 0, list[tuple[int, int]]()
    for _ in range(12):
        at_ms += rng.choice([500, 1000, 3000])
        found = of(window.add(at_ms, {A: Offsets(rng.randint(0, 99), rng.randint(0, 99))}), "a")
        changes.append((at_ms, found.change))
        inside = [change for when, change in changes if when > at_ms - max(window_ms, 1)]
        assert found.windowed_change == sum(inside)
