"""First offsets of records: against a dictionary, whatever was sent again or out of order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.translate.index.origin_positions import OriginPositions, first_occurrences
from offset_sync.translate.index.runs import Int64s, Runs

Stretch = tuple[int, int, int, int]
"""(origin offset, length, place in the log, when it was indexed)"""


@st.composite
def stretches(draw: st.DrawFn, *, origin_offsets: int = 25) -> list[Stretch]:
    """Any stretches of one origin in log order, with holes in the log between them; some continue those before."""
    shapes = st.tuples(st.integers(-9, origin_offsets), st.integers(1, 8), st.integers(0, 2), st.integers(0, 3))
    place, end, found = 0, 0, []
    for origin_start, length, gap, seen_ms in draw(st.lists(shapes, max_size=12)):
        if origin_start < 0:
            origin_start, gap = end, gap // 2
        found.append((origin_start, length, place + gap, seen_ms))
        place, end = place + gap + length, origin_start + length
    return found


def runs_of(found: list[Stretch]) -> Runs:
    start, length, place, seen_ms = np.array(found, np.int64).reshape(-1, 4).T
    return Runs.of(place, length, np.zeros(len(found)), start, seen_ms)


def by_dictionary(found: list[Stretch]) -> dict[int, tuple[int, int]]:
    """Place and indexing time of each origin offset's first occurrence."""
    first: dict[int, tuple[int, int]] = {}
    for start, length, place, seen_ms in sorted(found, key=lambda stretch: stretch[2]):
        for step in range(length):
            first.setdefault(start + step, (place + step, seen_ms))
    return first


def expanded(start: Int64s, end: Int64s, position: Int64s, seen_ms: Int64s) -> dict[int, tuple[int, int]]:
    columns = zip(start.tolist(), end.tolist(), position.tolist(), seen_ms.tolist(), strict=True)
    return {low + step: (at + step, seen) for low, high, at, seen in columns for step in range(high - low)}


def positions_of(*batches: list[Stretch]) -> OriginPositions:
    positions = OriginPositions()
    for batch in batches:
        positions.extend(runs_of(batch))
    return positions


def offsets_of(positions: OriginPositions) -> dict[int, int]:
    zeros = np.zeros(len(positions), np.int64)
    return {o: at for o, (at, _) in expanded(positions.start, positions.end, positions.position, zeros).items()}


def is_sorted_and_disjoint(positions: OriginPositions) -> bool:
    return bool(np.all(positions.start[1:] >= positions.end[:-1]) and np.all(positions.start < positions.end))


@law(200)
@given(stretches().filter(bool), st.randoms(use_true_random=False))
def test_first_occurrences_are_those_of_a_dictionary_in_any_order(found: list[Stretch], rng: object) -> None:
    shuffled = list(found)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    start, length, place, seen_ms = np.array(shuffled, np.int64).T
    cut = first_occurrences(start, start + length, place, seen_ms)
    assert expanded(*cut) == by_dictionary(found)
    assert np.all(cut[0][1:] >= cut[1][:-1])


@law(150)
@given(stretches(), st.lists(st.integers(0, 12), max_size=3))
def test_growing_in_pieces_is_the_same_as_in_one(found: list[Stretch], borders: list[int]) -> None:
    cuts = [0, *sorted(borders), len(found)]
    grown = positions_of(*(found[low:high] for low, high in pairwise(cuts)))
    assert offsets_of(grown) == {o: at for o, (at, _) in by_dictionary(found).items()}
    assert is_sorted_and_disjoint(grown)


@law(150)
@given(stretches(), st.lists(st.integers(0, 12), max_size=3))
def test_a_hole_counts_as_the_lowest_offset_of_any_later_record(found: list[Stretch], borders: list[int]) -> None:
    cuts = [0, *sorted(borders), len(found)]
    positions, first = positions_of(*(found[low:high] for low, high in pairwise(cuts))), by_dictionary(found)
    for hole in set(range(35)) - first.keys():
        segment = int(np.searchsorted(positions.start, hole))
        later = [(at, seen) for o, (at, seen) in first.items() if o > hole]
        told = (positions.next_offset[segment:], positions.next_offset_indexed_at_ms[segment:])
        assert [int(each[0]) for each in told if later] == [*min(later, default=())]
        assert len(told[0]) == len(told[1]) == len(positions) - segment
        assert bool(later) == (segment < len(positions))


def test_a_stretch_that_goes_on_is_joined_and_one_with_a_marker_between_is_not() -> None:
    positions = positions_of([(3, 2, 0, 0)], [(5, 5, 2, 1), (10, 5, 8, 2)])
    assert list(zip(positions.start.tolist(), positions.end.tolist(), positions.position.tolist())) == [
        (3, 10, 0),
        (10, 15, 8),
    ]
    assert positions.next_offset_indexed_at_ms.tolist() == [0, 2]
    assert OriginPositions().view().start.tolist() == []
