"""Runs against the records that they stand for, one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.translate.index.runs import (
    NO_RUNS,
    UNKNOWN_ORIGIN,
    Runs,
    records_below,
)

Row = tuple[int, int, int, int, int]
"""(offset, length, origin, origin offset, when it was indexed)"""
Records = dict[int, tuple[int, int, int]]
"""(origin, origin offset, when it was indexed) by offset."""
_rows = st.tuples(
    st.integers(0, 2), st.integers(1, 4), st.sampled_from([0, 0, 1, UNKNOWN_ORIGIN]), st.integers(0, 4), st.booleans()
)


@st.composite
def logs(draw: st.DrawFn) -> Runs:
    """Runs that begin where those before end, or later, and often continue them."""
    rows: list[Row] = []
    at = 0
    for gap, length, origin, first, continues in draw(st.lists(_rows, max_size=8)):
        if rows and continues:
            _, before, origin, at_origin, _ = rows[-1]
            first = at_origin + before
            gap *= first % 2
        at += gap
        rows.append((at, length, origin, at if origin == UNKNOWN_ORIGIN else first, len(rows)))
        at += length
    return runs_of(rows)


def runs_of(rows: list[Row]) -> Runs:
    return Runs.of(*np.array(rows, np.int64).reshape(-1, 5).T)


def rows_of(runs: Runs) -> list[Row]:
    return list(zip(*(column.tolist() for column in runs.columns), strict=True))


def records_of(*runs: Runs) -> Records:
    """Return the records of some runs; where two are at one offset the first counts."""
    found: Records = {}
    for start, length, origin, first, at_ms in [row for each in runs for row in rows_of(each)]:
        assert length > 0
        for n in range(length):
            found.setdefault(start + n, (origin, first + n, at_ms))
    return found


@law(200)
@given(logs(), st.integers(-1, 20))
def test_what_is_above_and_below_an_offset_is_all_there_is(runs: Runs, offset: int) -> None:
    above, below = runs.from_offset(offset), runs.below(offset)
    records = records_of(runs)
    assert records_of(above) == {o: each for o, each in records.items() if o >= offset}
    assert records_of(below) == {o: each for o, each in records.items() if o < offset}
    assert (above is runs, len(below) == len(runs)) == (
        len(runs) == 0 or offset <= runs.start[0],
        len(runs) == 0 or offset > runs.start[-1],
    )
    asked = np.array([offset, offset + 3])
    counted = [sum(o < each for o in records) for each in asked.tolist()]
    assert records_below(runs.start, runs.length, asked).tolist() == counted


@law(200)
@given(logs(), logs())
def test_of_rows_that_repeat_each_offset_is_kept_once(one: Runs, other: Runs) -> None:
    rows = sorted([*rows_of(one), *rows_of(other)], key=lambda row: row[0])
    mixed = runs_of(rows)
    found = mixed.without_repeats()
    assert records_of(found) == records_of(mixed)
    assert int(found.length.sum()) == len(records_of(mixed))
    assert (found is mixed) == (len(found) == len(mixed) and int(mixed.length.sum()) == len(records_of(mixed)))


@law(200)
@given(logs(), st.integers(0, 8))
def test_joined_runs_are_as_few_as_can_be_and_as_old_as_their_first_records(runs: Runs, border: int) -> None:
    found, wanted = rows_of(runs.joined()), list[Row]()
    for start, length, origin, first, at_ms in rows_of(runs):
        before = wanted[-1] if wanted else (0, 0, UNKNOWN_ORIGIN - 1, 0, 0)
        if (start, origin, first) == (before[0] + before[1], before[2], before[3] + before[1]):
            wanted[-1] = (before[0], before[1] + length, *before[2:])
        else:
            wanted.append((start, length, origin, first, at_ms))
    assert found == wanted
    below, above = runs.take(slice(0, border)), runs.take(slice(border, None))
    if len(below) and len(above):
        joined, parts = len(runs.joined()), len(below.joined()) + len(above.joined())
        assert above.continues(below) == (joined < parts)


@law(100)
@given(logs(), st.sampled_from(["start", "length", "origin", "origin_start", "indexed_at_ms"]))
def test_the_same_records_may_be_indexed_at_another_time(runs: Runs, name: str) -> None:
    columns = {each: getattr(runs, each).copy() for each in runs.__match_args__}
    columns[name][-1:] += 1
    other = Runs(*columns.values())
    assert runs.same_records(runs.followed_by(NO_RUNS))
    assert runs.same_records(other) == (len(runs) == 0 or name == "indexed_at_ms")
